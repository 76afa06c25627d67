/** A hung Redis carries out what it was sent long after its sender gave up. By then that means nothing any more. */
import { expect, it } from "vitest";
import { sleep, systemClock } from "../../../src/model/clock.ts";
import { Secret } from "../../../src/model/secret.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { openReplica, patientClock } from "../../../testkit/redis-replica.ts";

const key = "ef".repeat(32);
const counts = (useless: number) => new Map([["S1", useless]]);
const refused = { kind: "refused", status: 401, failures: 0, remainingMs: 2_000 } as const;

/** Two replicas, and a Redis that hangs when the first one sends, and for so long after that. */
async function stageHung(send: (replica: ReturnType<typeof openReplica>) => Promise<unknown>, hungMs: number) {
  const redis: RealRedis = await startRedis();
  const [late, other] = [openReplica(redis), openReplica(redis, patientClock)];
  await Promise.all([late.store.read(key), other.store.read(key)]);
  // Redis now knows the scripts, so that each command is sent once.
  await late.store.save(key, { secret: new Secret("warm-up"), lifetimeMs: 1_000 }, 0);
  await late.store.countForced(key, counts(0));
  await late.store.pause(key, { ...refused, remainingMs: 1 });
  await sleep(systemClock, 1_100);
  redis.stop();
  await send(late);
  await sleep(systemClock, hungMs);
  redis.cont();
  // Its probe's answer comes after that of the late command.
  await late.recorder.nth("redis_up", 2);
  return other;
}

it("a token that arrives after its end is not there, and keeps no newer one away", async () => {
  const { store } = await stageHung(
    ({ store }) => store.save(key, { secret: new Secret("old"), lifetimeMs: 2_000 }, 10),
    2_500,
  );
  expect((await store.read(key)).token).toBeUndefined();
  const stored = await store.save(key, { secret: new Secret("new"), lifetimeMs: 3_600_000 }, 1_000);
  expect(stored.secret.reveal()).toBe("new");
});

it("a pause that arrives after its end does not pause", async () => {
  const { store } = await stageHung(({ store }) => store.pause(key, refused), 2_500);
  expect((await store.read(key)).limits?.endpoint?.remainingMs ?? 0).toBe(0);
});

it("a count of useless refreshes that arrives late is not counted", async () => {
  const { store } = await stageHung(({ store }) => store.countForced(key, counts(4)), 2_500);
  expect((await store.read(key, ["S1"])).limits?.forced.get("S1")?.useless).toBe(0);
});
