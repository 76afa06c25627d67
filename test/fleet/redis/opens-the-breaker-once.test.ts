/** A Redis that answers everything, but always too late, is away; it does not come and go with every probe. */
import { expect, it } from "vitest";
import { sleep, systemClock } from "../../../src/model/clock.ts";
import { startFaultProxy } from "../../../testkit/fault-proxy.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { openReplica } from "../../../testkit/redis-replica.ts";

const key = "01".repeat(32);
/** A command has 100 ms. */
const lateMs = 130;
/** Probes are a second apart. */
const watchedMs = 8_000;

it("a Redis that answers in 130 ms is called away once, and back once when it is fast again", async () => {
  const network = await startFaultProxy((await startRedis()).url);
  const { store, recorder } = openReplica(network);
  const said = () => recorder.events.map(({ kind }) => kind).filter((kind) => /^redis_(up|down)$/.test(kind));
  await store.read(key);
  network.toCaller.become({ latencyMs: lateMs });
  const untilMs = systemClock.nowMs() + watchedMs;
  while (systemClock.nowMs() < untilMs) {
    await store.read(key);
    await sleep(systemClock, 50);
  }
  expect(said()).toEqual(["redis_up", "redis_down"]);
  network.heal();
  await recorder.nth("redis_up", 2);
  expect(said()).toEqual(["redis_up", "redis_down", "redis_up"]);
});
