/** Gauges and /status show moments of the monotonic clock as wall-clock times. */
import { expect, it } from "vitest";
import { createWallTime } from "../../src/model/clock.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

const atMs = Date.UTC(2026, 10, 21, 12, 0, 0);

it("a moment has the same time at every call, though the clocks drift by less than a second", async () => {
  const clock = new FakeClock();
  const wallTime = createWallTime(clock);
  const momentMs = clock.nowMs();
  expect(wallTime(momentMs)).toBe(atMs);
  await clock.advance(3_600_000);
  for (const driftMs of [400, 500]) {
    clock.jumpWall(driftMs);
    expect(wallTime(momentMs)).toBe(atMs);
  }
});

it("a moment moves with the wall clock once that was set", () => {
  const clock = new FakeClock();
  const wallTime = createWallTime(clock);
  expect(wallTime(clock.nowMs())).toBe(atMs);
  clock.jumpWall(-5 * 3_600_000);
  expect(wallTime(clock.nowMs())).toBe(atMs - 5 * 3_600_000);
  expect(wallTime(clock.nowMs() - 1_000.4)).toBe(atMs - 5 * 3_600_000 - 1_000);
});
