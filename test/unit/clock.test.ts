import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { createWallTime, systemClock } from "../../src/model/clock.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";
import { listen } from "../../testkit/listen.ts";

/** Node looks for timers first, for sockets second. */
it("a timer runs after what came in while the process stood still", async () => {
  const server = createServer();
  const accepted = once(server, "connection");
  const caller = connect(await listen(server), "127.0.0.1");
  const [peer] = (await accepted) as [Socket];
  const seen: string[] = [];
  caller.once("data", () => seen.push("answer"));
  const timer = new Promise<void>((resolve) => {
    systemClock.after(5, () => {
      seen.push("timer");
      resolve();
    });
  });
  peer.write("x");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  await timer;
  expect(seen).toEqual(["answer", "timer"]);
  caller.destroy();
});

it("a timer that has run out does nothing once it is cancelled before its turn", async () => {
  let isRun = false;
  const cancel = systemClock.after(0, () => {
    isRun = true;
  });
  // Runs in the same phase as the timer, after it: both are due by then.
  const due = new Promise<void>((resolve) => setTimeout(resolve, 1));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  await due;
  cancel();
  await new Promise((resolve) => setImmediate(resolve));
  expect(isRun).toBe(false);
});

const atMs = Date.UTC(2026, 10, 21, 12, 0, 0);

it("a moment of the monotonic clock has the same time at every call, though the clocks drift by less than a second", async () => {
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
