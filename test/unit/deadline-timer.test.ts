import { expect, it } from "vitest";
import { type Clock, DeadlineTimer } from "../../src/model/clock.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

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

it("comes once, at its moment", async () => {
  const { fake, timer, comesAtMs, at } = stage();
  timer.set(at(100));
  await fake.advance(99);
  expect(comesAtMs).toEqual([]);
  await fake.advance(1_000);
  expect(comesAtMs).toEqual([100]);
});

it("comes at the last moment that was set, sooner or later than the one before", async () => {
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

it("does not come once it is cleared, and can be set again", async () => {
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

it("leaves no timer behind when it is closed", async () => {
  const { fake, timer, comesAtMs, at } = stage();
  timer.set(at(100));
  timer.close();
  await fake.advance(1_000);
  expect(comesAtMs).toEqual([]);
});

it("sets one timer for a thousand deadlines that do not come", async () => {
  const { fake, timer, timers } = stage();
  for (let n = 0; n < 1_000; n++) {
    timer.set(fake.nowMs() + 20_000);
    timer.clear();
    await fake.advance(1);
  }
  expect(timers()).toBe(1);
});
