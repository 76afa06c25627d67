/** Redis closes idle connections, as Azure's does after ten minutes: no order is refused, and nothing is told. */
import { expect, it } from "vitest";
import { aclUser } from "../../../testkit/acl.ts";
import { startFaultProxy } from "../../../testkit/fault-proxy.ts";
import { type Fleet, type Replica, startFleet } from "../../../testkit/fleet.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { startCluster, startMasters, startSentinels, watched } from "../../../testkit/redis-fleet.ts";
import { openReplica, patientClock } from "../../../testkit/redis-replica.ts";

const listed = (nodes: readonly RealRedis[]) => nodes.map(({ port }) => `"127.0.0.1:${port}"`).join(", ");

let orders = 0;

it("after its `timeout`, round after round", async () => {
  const redis = await startRedis({ args: ["--timeout", "1"] });
  const fleet = await startFleet({ redis, replicas: 2 });
  for (let round = 0; round < 4; round += 1) {
    await expectServed(fleet);
    await untilClosed(redis, async () => {});
  }
  await expectServed(fleet);
  await expectNothingTold(fleet);
});

it("by CLIENT KILL, ten times with an order after each", async () => {
  const redis = await startRedis();
  const fleet = await startFleet({ redis, replicas: 2 });
  for (let round = 0; round < 10; round += 1) {
    await expectServed(fleet);
    await untilClosed(redis, () => redis.command("CLIENT", "KILL", "USER", aclUser.username));
    await expectServed(fleet);
  }
  await expectNothingTold(fleet);
});

it("in a Cluster, each node after its `timeout`", async () => {
  const nodes = await startCluster(startRedis);
  const fleet = await startFleet({ redis: `{ cluster: { nodes: [ ${listed(nodes)} ] } }`, replicas: 2 });
  for (let round = 0; round < 8; round += 1) await expectServed(fleet);
  for (const node of nodes) await node.config("timeout", 1);
  for (const node of nodes) await expect.poll(() => idsOf(node)).toEqual([]);
  for (let round = 0; round < 8; round += 1) await expectServed(fleet);
  await expectNothingTold(fleet);
});

it("behind Sentinels, the master after its `timeout`, and the Sentinels' connections too", async () => {
  const { master, sentinels } = await startSentinels(startRedis);
  const fleet = await startFleet({
    redis: `{ sentinel: { name: ${watched}, nodes: [ ${listed(sentinels)} ] } }`,
    replicas: 2,
  });
  await expectServed(fleet);
  await master.config("timeout", 1);
  await untilClosed(master, async () => {});
  for (const sentinel of sentinels) await sentinel.command("CLIENT", "KILL", "TYPE", "pubsub");
  await expectServed(fleet);
  await expectNothingTold(fleet);
});

it("masters of the lock: one token for all replicas after a revocation", async () => {
  const masters = await startMasters(startRedis);
  const [cache, ...others] = masters;
  const lockNodes = others.map(({ url }) => `"${url}"`).join(", ");
  const fleet = await startFleet({ redis: `{ url: "${cache.url}", lockNodes: [ ${lockNodes} ] }`, replicas: 2 });
  await expectServed(fleet);
  for (const master of masters) {
    await untilClosed(master, () => master.command("CLIENT", "KILL", "USER", aclUser.username));
  }
  fleet.simulator.revokeAllTokens();
  await expectServed(fleet);
  expect(fleet.simulator.counts().tokenRequests).toBe(2);
  for (const { events } of fleet.replicas) expect(events("redis_down")).toEqual([]);
});

it("but a Redis that is gone is told at once, though nobody uses it", async () => {
  const redis = await startRedis();
  const fleet = await startFleet({ redis, replicas: 1 });
  const [idle] = fleet.replicas as [Replica];
  await idle.order();
  const sinceMs = Date.now();
  await redis.kill();
  const { failure, time } = await idle.event("redis_down");
  expect(failure).toBe("connection");
  expect(new Date(time).getTime() - sinceMs).toBeLessThan(1_000);
});

it("while Redis answers a claim: the claim is made once, and by this request", async () => {
  const redis = await startRedis();
  const network = await startFaultProxy(redis.url);
  const { claims, recorder } = openReplica(network, patientClock);
  const terms = { kind: "once", note: "n", leaseMs: 10_000, lifetimeMs: 60_000, isTakenOver: false } as const;
  const claim = claims.open({ ...terms, key: "order-1", holder: "a" });
  expect(await claims.open({ ...terms, key: "order-0", holder: "a" }).make()).toEqual({ kind: "claimed" });
  network.toCaller.become({ blackHole: true });
  const making = claim.make();
  await expect.poll(async () => (await redis.command("KEYS", "*order-1*:once")) as string[]).toHaveLength(1);
  network.reset();
  network.heal();
  expect(await making).toEqual({ kind: "claimed" });
  expect(await claims.open({ ...terms, key: "order-1", holder: "b" }).make()).toMatchObject({
    kind: "held",
    holder: "a",
  });
  await claim.settle("answered 200");
  expect(recorder.count("redis_down")).toBe(0);
});

/** The ids of the connections that the replicas have to a server. */
async function idsOf(redis: RealRedis): Promise<readonly string[]> {
  const list = String(await redis.command("CLIENT", "LIST", "TYPE", "normal"));
  return list
    .split("\n")
    .flatMap((line) => (line.includes(`user=${aclUser.username}`) ? [line.split(" ")[0] ?? ""] : []));
}

async function expectServed({ replicas }: Fleet): Promise<void> {
  for (const replica of replicas) {
    orders += 1;
    expect(await replica.order({ "Countersign-Once": `order-${orders}` })).toMatchObject({ status: 200 });
  }
}

async function expectNothingTold({ replicas, sum }: Fleet): Promise<void> {
  for (const { events } of replicas) {
    expect(events("redis_down")).toEqual([]);
    expect(events("redis_up")).toHaveLength(1);
    expect(events("redis_failed")).toEqual([]);
  }
  expect(await sum("countersign_redis_errors_total")).toBe(0);
  expect(await sum("countersign_redis_up")).toBe(replicas.length);
}

/** Resolves when every connection has been closed since. */
async function untilClosed(redis: RealRedis, close: () => Promise<unknown>): Promise<void> {
  const before = await idsOf(redis);
  expect(before).not.toEqual([]);
  await close();
  const remaining = async () => (await idsOf(redis)).filter((id) => before.includes(id));
  await expect.poll(remaining).toEqual([]);
}
