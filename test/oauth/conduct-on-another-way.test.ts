/** A changed trust or timeout towards the authorization server: what a new pool of connections begins with. */
import { describe, expect, it } from "vitest";
import { EndpointBackoff } from "../../src/oauth/endpoint-backoff.ts";
import type { TokenAnswer } from "../../src/oauth/token-endpoint.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

function noted(answer: TokenAnswer) {
  const clock = new FakeClock();
  const before = new EndpointBackoff(clock, () => 0.5);
  before.note(answer);
  return { clock, next: before.onAnotherWay() };
}

const throttled: TokenAnswer = { kind: "throttled", status: 429, retryAfterMs: 600_000 };

describe("on another way to the authorization server", () => {
  it("a 429 is kept to, though no store tells of it", () => {
    const { next, clock } = noted(throttled);
    expect(next.ban()).toMatchObject({ kind: "throttled", status: 429, untilMs: clock.nowMs() + 600_000 });
  });

  it("a refusal is kept to, and the set stays refused", () => {
    const { next } = noted({ kind: "refused", status: 401 });
    expect(next.ban()).toMatchObject({ kind: "refused", status: 401 });
    expect(next.isRefused()).toBe(true);
  });

  it("a failure on the old way is over, also where another replica tells of it", async () => {
    const { next, clock } = noted({ kind: "failed", status: undefined });
    expect(next.ban()).toBeUndefined();
    const told = { kind: "failing", status: undefined, failures: 9, remainingMs: 15_000 } as const;
    next.hear({ ...told, ageMs: 10 });
    expect(next.ban()).toBeUndefined();
    // One that came later is heard.
    await clock.advance(20);
    next.hear({ ...told, ageMs: 10 });
    expect(next.ban()).toMatchObject({ kind: "failing", untilMs: clock.nowMs() + 15_000 });
  });

  it("failures of replicas that are still on the old way are not heard, those on the same way are", async () => {
    const clock = new FakeClock();
    const next = new EndpointBackoff(clock, () => 0.5, "aa").onAnotherWay("bb");
    await clock.advance(1_000);
    const told = { kind: "failing", status: undefined, failures: 9, remainingMs: 15_000, ageMs: 10 } as const;
    next.hear({ ...told, way: "aa" });
    expect(next.ban()).toBeUndefined();
    next.hear({ ...told, way: "bb" });
    expect(next.ban()).toMatchObject({ kind: "failing", untilMs: clock.nowMs() + 15_000 });
  });

  it("a failure is told with its way, what the server said is told without", () => {
    const conduct = new EndpointBackoff(new FakeClock(), () => 0.5, "aa");
    conduct.note({ kind: "failed", status: undefined });
    expect(conduct.tell()).toMatchObject({ pause: { kind: "failing", way: "aa" } });
    conduct.note(throttled);
    expect(conduct.tell()).toMatchObject({ pause: { kind: "throttled", way: undefined } });
  });
});
