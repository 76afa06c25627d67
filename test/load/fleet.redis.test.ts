import { expect, onTestFinished, test } from "vitest";
import { FleetRedis } from "../../bench/fleet/fleet-redis.ts";
import { SimulatedClock } from "../../bench/fleet/simulated-clock.ts";
import { type LifeRow, simulate } from "../../bench/fleet/simulation.ts";
import { createClient, TimedConnection } from "../../bench/fleet/timed-connection.ts";
import { judge } from "../../bench/fleet/verdict.ts";
import { Work } from "../../bench/fleet/work.ts";
import { createRedisRefreshLock } from "../../src/adapters/redis/refresh-lock.ts";
import { createRedisTokenStore } from "../../src/adapters/redis/token-store.ts";
import { Secret } from "../../src/model/secret.ts";
import { drawSeed } from "../../testkit/seeded-random.ts";

// The short form of `npm run bench:fleet`, which runs a thousand replicas for thirty lifetimes.

const replicas = 50;

test("50 replicas request one token per lifetime, and one each while Redis is away", async () => {
  const seed = drawSeed("fleet");
  const { rows } = await simulate({ seed, replicas, lifetimes: 6, startWithinMs: 1_000 });
  expect(judge(rows, replicas).filter(({ isReached }) => !isReached)).toEqual([]);
  expect(rows.map(({ phase }) => phase)).toEqual(["calm", "restarts", "outage", "outage", "outage", "mixed"]);
  expect(rows.slice(0, 5).map(({ tokenRequests }) => tokenRequests)).toEqual([1, 1, 1, replicas, 1]);
  expect(rows[1]?.restarts).toBeGreaterThan(0);
  // Redis and its clients count independently.
  const calm = rows.filter(({ redisAwayMs }) => redisAwayMs === 0);
  expect(calm.map(({ commands }) => commands)).toEqual(calm.map(({ sentCommands }) => sentCommands));
});

test("a real Redis follows the injected clock: tokens, pauses and the lock expire by it", async () => {
  const { store, lock, pass } = await openStage();
  await store.save("fleet", { secret: new Secret("token_1"), lifetimeMs: 3_600_000 }, 300);
  await pass(100_000);
  await store.pause("fleet", { kind: "throttled", status: 429, failures: 1, remainingMs: 60_000 });
  expect(await lock.tryAcquire("fleet")).not.toBe("held");
  await pass(50_000);
  const { token, limits } = await store.read("fleet");
  // Real time passes only while a command runs.
  expect(Math.abs((token?.remainingMs ?? 0) - 3_449_700)).toBeLessThan(2_000);
  expect(Math.abs((limits?.endpoint?.remainingMs ?? 0) - 10_000)).toBeLessThan(100);
  expect(await lock.tryAcquire("fleet")).toBe("held");
  await pass(11_000);
  // The endpoint's failures are counted for another minute.
  expect((await store.read("fleet")).limits?.endpoint).toMatchObject({ remainingMs: 0, failures: 1 });
  await pass(85_000);
  expect((await store.read("fleet")).limits?.endpoint).toBeUndefined();
  expect(await lock.tryAcquire("fleet")).not.toBe("held");
  await pass(3_300_000);
  expect((await store.read("fleet")).token?.secret.reveal()).toBe("token_1");
  await pass(54_000);
  expect((await store.read("fleet")).token).toBeUndefined();
});

const calmRow: LifeRow = {
  life: 1,
  phase: "calm",
  lengthMs: 2_880_000,
  tokenRequests: 1,
  repeatedRequests: 0,
  commands: 100,
  redisAwayMs: 0,
  orders: 10,
  failures: 0,
  longestWaitMs: 0,
  restarts: 0,
  sentCommands: 100,
  mostCommands: 5,
};
const aloneRow: LifeRow = { ...calmRow, phase: "outage", redisAwayMs: 3_600_000, tokenRequests: 50 };

test.each<[what: string, rows: LifeRow[], missed: number]>([
  ["all is well", [calmRow, aloneRow], 0],
  ["a second token while Redis was there", [{ ...calmRow, tokenRequests: 2 }, aloneRow], 1],
  ["more tokens than replicas", [calmRow, { ...aloneRow, tokenRequests: 51 }], 1],
  ["a process that asked twice", [calmRow, { ...aloneRow, repeatedRequests: 1 }], 1],
  ["12 commands per replica", [{ ...calmRow, commands: 600 }, aloneRow], 0],
  ["one command more", [{ ...calmRow, commands: 601 }, aloneRow], 1],
  ["an order without a token", [{ ...calmRow, failures: 1 }, aloneRow], 1],
  ["no outage to judge by", [calmRow], 1],
  ["nothing to judge by", [], 5],
])("the bench's verdict: %s", (_, rows, missed) => {
  expect(judge(rows, replicas).filter(({ isReached }) => !isReached)).toHaveLength(missed);
});

/** Store and lock on a Redis of the test's own, with time that passes when the test says so. */
async function openStage() {
  const redis = await FleetRedis.open("fleet");
  onTestFinished(() => redis.end());
  const work = new Work();
  const clock = new SimulatedClock(work);
  const parts = { client: createClient(redis, () => {}), node: "cache", clock, random: Math.random, report() {} };
  const connection = new TimedConnection(parts, { work, redis });
  onTestFinished(() => connection.close());
  return {
    store: createRedisTokenStore({ connection, keys: redis.access.encryptionKeys, clock, report() {} }),
    lock: createRedisRefreshLock(connection, [], clock),
    async pass(ms: number): Promise<void> {
      let isOver = false;
      clock.after(ms, () => {
        isOver = true;
      });
      await clock.runUntil(() => isOver);
    },
  };
}
