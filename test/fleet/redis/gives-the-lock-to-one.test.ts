/** The refresh lock on real servers that die and hang: the lock saves requests, and correctness never depends on it. */
import { expect, it, onTestFinished, vi } from "vitest";
import { redisKeys } from "../../../src/adapters/redis/scripts.ts";
import { sleep, systemClock } from "../../../src/model/clock.ts";
import { acquire } from "../../../testkit/contract/refresh-lock.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { startMasters } from "../../../testkit/redis-fleet.ts";
import { accessTo, nodeAt, openReplica } from "../../../testkit/redis-replica.ts";

const key = "key";
const name = redisKeys(key).lock;

it("the lock is renewed for as long as the refresh takes, even if the wall clock is set forward", async () => {
  const redis = await startRedis();
  const [holder, other] = [openReplica(redis), openReplica(redis)];
  const lease = await acquire(holder.lock, key);
  const realNow = Date.now.bind(Date);
  const setForward = vi.spyOn(Date, "now").mockImplementation(() => realNow() + 3_600_000);
  onTestFinished(() => setForward.mockRestore());
  for (let second = 0; second < 6; second++) {
    await sleep(systemClock, 1_000);
    expect(await other.lock.tryAcquire(key)).toBe("held");
  }
  await lease.release();
  await acquire(other.lock, key);
});

it.each([
  ["no expiry", []],
  ["an expiry in an hour, as after Redis's clock was set back", ["PX", 3_600_000]],
])("a key of the lock with %s is taken over", async (_, end) => {
  const redis = await startRedis();
  await redis.command("SET", name, "left by nobody who lives", ...end);
  const [one, other] = [openReplica(redis), openReplica(redis)];
  const lease = await acquire(one.lock, key);
  const leftMs = Number(await redis.command("PTTL", name));
  expect(leftMs).toBeGreaterThan(0);
  expect(leftMs).toBeLessThanOrEqual(1_500);
  expect(await other.lock.tryAcquire(key)).toBe("held");
  await lease.release();
  expect(await redis.command("EXISTS", name)).toBe(0);
});

it("two of three masters give the lock; without a majority the server of the tokens alone does", async () => {
  const [[, second, third], access] = await stageMasters();
  const [one, other] = [openReplica(access), openReplica(access)];
  await third.kill();
  const lease = await acquire(one.lock, key);
  expect(await other.lock.tryAcquire(key)).toBe("held");
  await lease.release();

  // A master that hangs delays by a few commands' time.
  second.stop();
  const sinceMs = systemClock.nowMs();
  const alone = await acquire(other.lock, key);
  expect(systemClock.nowMs() - sinceMs).toBeLessThan(3_000);
  expect(await one.lock.tryAcquire(key)).toBe("held");
  await alone.release();
  await (await acquire(one.lock, key)).release();
  second.cont();
  await other.recorder.nth("redis_up", 2, ({ node }) => node === "lock-2");
  // Commands that timed out were carried out when the server woke up; the locks from them expire by themselves.
  await expect.poll(async () => typeof (await other.lock.tryAcquire(key)), { timeout: 40_000 }).toBe("object");
});

it("of several contenders for three masters one at most gets the lock, and finally one does", async () => {
  const [, access] = await stageMasters();
  const replicas = Array.from({ length: 5 }, () => openReplica(access));
  let winners = 0;
  for (let round = 0; round < 20; round++) {
    const tried = await Promise.all(replicas.map(({ lock }) => lock.tryAcquire(key)));
    const leases = tried.filter((lease) => typeof lease !== "string");
    expect(leases.length).toBeLessThanOrEqual(1);
    expect(tried).not.toContain("unavailable");
    winners += leases.length;
    for (const lease of leases) await lease.release();
  }
  expect(winners).toBeGreaterThan(0);
});

/** Three masters for the lock; the first also has the tokens. */
async function stageMasters() {
  const masters = await startMasters(startRedis);
  const [cache, ...others] = masters;
  return [masters, accessTo(nodeAt(cache.port), { lockNodes: others.map(({ port }) => nodeAt(port)) })] as const;
}
