/** How many requests a caller may make, exactly. */
import { expect, it } from "vitest";
import { RateLimit } from "../../src/serving/caller-registry.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

it.each([
  [0.01, 1],
  [0.5, 1],
  [1, 1],
  [2.5, 2],
  [3, 3],
  [7, 7],
  [1_000, 1_000],
  [99_999, 99_999],
])(
  "after a pause a burst passes, as large as one second's requests, at least one: rate %d, burst %d",
  async (rate, burst) => {
    const clock = new FakeClock();
    const limit = new RateLimit(rate, clock);
    expect(passing(limit, burst + 5)).toBe(burst);
    await clock.advance(1_000_000);
    expect(passing(limit, burst + 5)).toBe(burst);
  },
);

it.each([0.1, 1, 3, 7, 33, 1_000])("exactly %d a second pass in the long run", async (rate) => {
  const clock = new FakeClock();
  const limit = new RateLimit(rate, clock);
  const burst = passing(limit, rate + 5);
  let passed = 0;
  const seconds = rate < 1 ? 100 : 10;
  // At each whole interval one request more than the rate allows.
  const steps = rate > 100 ? seconds : Math.round(seconds * rate);
  for (let step = 0; step < steps; step += 1) {
    await clock.advance((seconds * 1_000) / steps);
    passed += passing(limit, Math.ceil((rate * seconds) / steps) + 1);
  }
  expect(passed).toBe(Math.round(rate * seconds));
  expect(burst).toBe(Math.max(1, Math.floor(rate)));
});

it("says how long to wait: after that time, and not earlier, the next request passes", async () => {
  const clock = new FakeClock();
  const limit = new RateLimit(2, clock);
  expect(passing(limit, 2)).toBe(2);
  expect(limit.take()).toBe(500);
  await clock.advance(499);
  expect(limit.take()).toBe(1);
  await clock.advance(1);
  expect(limit.take()).toBeUndefined();
  expect(limit.take()).toBe(500);
});

it("keeps its count when the rate changes", async () => {
  const clock = new FakeClock();
  const limit = new RateLimit(1, clock);
  expect(passing(limit, 5)).toBe(1);
  limit.resize(10);
  expect(passing(limit, 20)).toBe(9);
  limit.resize(1);
  expect(limit.take()).toBe(1_000);
  await clock.advance(1_000);
  expect(passing(limit, 20)).toBe(1);
  limit.resize(1);
  expect(limit.take()).toBe(1_000);
});

/** How many of these requests pass at the present moment. */
function passing(limit: RateLimit, requests: number): number {
  return Array.from({ length: requests }, () => limit.take()).filter((waitMs) => waitMs === undefined).length;
}
