import { describe, expect, it } from "vitest";
import { Secret } from "../../../src/model/secret.ts";
import { drawThresholds, freshness, type Token } from "../../../src/oauth/token.ts";

const issuedAtMs = 5_000;
const token = (lifetimeMs: number): Token => ({
  secret: new Secret("t"),
  credential: "S1/blue",
  id: "1",
  issuedAtMs,
  lifetimeMs,
});

describe("the freshness of a token", () => {
  const day = 86_400_000;
  const short = 100_000;
  it.each([
    // A day's token: due at 84 %, expired 90 s before its end.
    { lifetimeMs: day, ageMs: 0, expected: "fresh" },
    { lifetimeMs: day, ageMs: 0.84 * day - 1, expected: "fresh" },
    { lifetimeMs: day, ageMs: 0.84 * day, expected: "due" },
    { lifetimeMs: day, ageMs: day - 90_001, expected: "due" },
    { lifetimeMs: day, ageMs: day - 90_000, expected: "expired" },
    { lifetimeMs: day, ageMs: day + 1, expected: "expired" },
    // A short one: a tenth of its life is less than the leeway.
    { lifetimeMs: short, ageMs: 84_000 - 1, expected: "fresh" },
    { lifetimeMs: short, ageMs: 84_000, expected: "due" },
    { lifetimeMs: short, ageMs: 90_000 - 1, expected: "due" },
    { lifetimeMs: short, ageMs: 90_000, expected: "expired" },
  ])("of $lifetimeMs ms at the age of $ageMs ms is $expected", ({ lifetimeMs, ageMs, expected }) => {
    const thresholds = { dueShare: 0.84, leewayMs: 90_000 };
    expect(freshness(token(lifetimeMs), thresholds, issuedAtMs + ageMs)).toBe(expected);
  });

  it("is drawn within 80 to 88 % and 60 to 120 s", () => {
    expect(drawThresholds(() => 0)).toEqual({ dueShare: 0.8, leewayMs: 60_000 });
    const { dueShare, leewayMs } = drawThresholds(() => 0.999_999);
    expect(dueShare).toBeGreaterThan(0.879);
    expect(dueShare).toBeLessThan(0.88);
    expect(leewayMs).toBeGreaterThan(119_000);
    expect(leewayMs).toBeLessThan(120_000);
  });
});
