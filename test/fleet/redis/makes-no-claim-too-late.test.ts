/** A claim is in Redis before its sender gives up, or never; a result is written whenever it arrives. */
import { expect, it } from "vitest";
import { createRedisClaimRecords } from "../../../src/adapters/redis/claim-records.ts";
import type { ClaimTerms } from "../../../src/claims/claim.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { startFaultProxy } from "../../../testkit/fault-proxy.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { openReplica } from "../../../testkit/redis-replica.ts";

const times = { leaseMs: 10_000, lifetimeMs: 60_000 };
const terms = (holder: string, key = "k"): ClaimTerms => {
  return { kind: "once", key, holder, note: "n", isTakenOver: false, ...times };
};

/** A process whose first connection loses its packets until `deliver`; its second one works. */
async function stage() {
  const redis = await startRedis();
  const ofFirst = { blackHole: false };
  const network = await startFaultProxy(redis.url, (connection) => (connection === 1 ? { toTarget: ofFirst } : {}));
  const replica = openReplica(network);
  // The first claim may be late on a busy machine.
  await expect.poll(() => replica.claims.open(terms("a", "before")).make().catch(String)).toMatchObject({});
  return {
    ...replica,
    other: openReplica(redis).claims,
    line: () => redis.command("GET", "countersign:2:{k}:once"),
    lose() {
      ofFirst.blackHole = true;
    },
    async deliver() {
      ofFirst.blackHole = false;
      const { toTarget } = network;
      network.heal();
      await network.until(() => toTarget.passed === toTarget.received);
      // The server has read what came before.
      for (const _ of [1, 2, 3]) await redis.command("PING");
    },
  };
}

it("a claim that arrives after it was released on a new connection is not made: the key is free", async () => {
  const { claims, other, recorder, line, lose, deliver } = await stage();
  lose();
  await expect(claims.open(terms("lost")).make()).rejects.toThrow();
  await recorder.nth("redis_up", 2);
  await expect.poll(() => claims.open(terms("b")).make().catch(String)).toEqual({ kind: "claimed" });
  await claims.open(terms("b")).release();
  expect(await line()).toBeNull();
  await deliver();
  expect(await line()).toBeNull();
  expect(await other.open(terms("c")).make()).toEqual({ kind: "claimed" });
});

it("a result that arrives too late is written all the same", async () => {
  const { claims, connection, line, lose, deliver } = await stage();
  await claims.open(terms("a")).make();
  const held = String(await line());
  lose();
  const records = createRedisClaimRecords(connection, systemClock);
  const result = { atMs: undefined, leaseMs: 0, content: "settled a n 200" };
  await expect(records.swap(terms("a"), held, result)).rejects.toThrow();
  expect(await line()).toBe(held);
  await deliver();
  await expect.poll(line).toMatch(/ settled a n 200$/);
});
