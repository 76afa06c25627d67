import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { type Clock, createWallTime, DeadlineTimer, systemClock } from "../../src/model/clock.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";
import { listen } from "../../testkit/listen.ts";

/** Node handles timers first, sockets second. */
it("a timer runs after the data that arrived while the process stood still", async () => {
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

it("a timer that is due does nothing if it is cancelled before it runs", async () => {
  let isRun = false;
  const cancel = systemClock.after(0, () => {
    isRun = true;
  });
  // Runs in the same phase as the timer and after it, since both are due by then.
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

/** A timer on a clock that counts the timers set on it. */
function stage() {
  const fake = new FakeClock();
  let timers = 0;
  const clock: Clock = {
    wallMs: () => fake.wallMs(),
    nowMs: () => fake.nowMs(),
    after(delayMs, task) {
      timers += 1;
      return fake.after(delayMs, task);
    },
  };
  const comesAtMs: number[] = [];
  const startedMs = fake.nowMs();
  const timer = new DeadlineTimer(clock, () => comesAtMs.push(fake.nowMs() - startedMs));
  return { fake, timer, comesAtMs, timers: () => timers, at: (ms: number) => startedMs + ms };
}

it("a deadline comes once, at its moment", async () => {
  const { fake, timer, comesAtMs, at } = stage();
  timer.set(at(100));
  await fake.advance(99);
  expect(comesAtMs).toEqual([]);
  await fake.advance(1_000);
  expect(comesAtMs).toEqual([100]);
});

it("a deadline comes at the moment that was set last, whether sooner or later than the former one", async () => {
  const { fake, timer, comesAtMs, at } = stage();
  timer.set(at(100));
  timer.set(at(300));
  await fake.advance(299);
  expect(comesAtMs).toEqual([]);
  await fake.advance(1);
  timer.set(at(500));
  timer.set(at(400));
  await fake.advance(1_000);
  expect(comesAtMs).toEqual([300, 400]);
});

it("a deadline does not come once it is cleared, and can be set again", async () => {
  const { fake, timer, comesAtMs, at } = stage();
  timer.set(at(100));
  timer.clear();
  await fake.advance(200);
  timer.set(at(300));
  timer.clear();
  timer.set(at(350));
  await fake.advance(1_000);
  expect(comesAtMs).toEqual([350]);
});

it("a deadline leaves no timer behind when it is closed", async () => {
  const { fake, timer, comesAtMs, at } = stage();
  timer.set(at(100));
  timer.close();
  await fake.advance(1_000);
  expect(comesAtMs).toEqual([]);
});

it("a deadline timer sets one timer for a thousand deadlines that never pass", async () => {
  const { fake, timer, timers } = stage();
  for (let n = 0; n < 1_000; n++) {
    timer.set(fake.nowMs() + 20_000);
    timer.clear();
    await fake.advance(1);
  }
  expect(timers()).toBe(1);
});
