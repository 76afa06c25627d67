import { describe, expect, it } from "vitest";
import { backoffMs } from "../../../src/oauth/endpoint-backoff.ts";

describe("back-off", () => {
  it.each([
    { failures: 0, longest: 50 },
    { failures: 1, longest: 100 },
    { failures: 4, longest: 800 },
    { failures: 9, longest: 25_600 },
    { failures: 10, longest: 30_000 },
    { failures: 1_000, longest: 30_000 },
  ])("after $failures failures is anything up to $longest ms", ({ failures, longest }) => {
    expect(backoffMs(failures, () => 0)).toBe(0);
    expect(backoffMs(failures, () => 0.5)).toBe(longest / 2);
    expect(backoffMs(failures, () => 0.999_999)).toBeLessThanOrEqual(longest);
  });
});
