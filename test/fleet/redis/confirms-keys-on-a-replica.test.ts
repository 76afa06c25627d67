/** With `once.durability: replica` nothing is sent before a replica of Redis has the key, so a failover forgets no key that was used. */
import { expect, it, onTestFinished } from "vitest";
import { createRedisClaimRecords } from "../../../src/adapters/redis/claim-records.ts";
import { createNodeClient } from "../../../src/adapters/redis/client.ts";
import type { RedisConnection } from "../../../src/adapters/redis/connection.ts";
import { confirmByReplica } from "../../../src/adapters/redis/replicas.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { aclUser } from "../../../testkit/acl.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { type Replica, startFleet } from "../../../testkit/fleet.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { startReplicated, startSentinels, watched } from "../../../testkit/redis-fleet.ts";
import { accessTo, nodeAt } from "../../../testkit/redis-replica.ts";
import { print } from "./load.ts";

const allowed = (redis: RealRedis) => redis.command("ACL", "SETUSER", aclUser.username, "+wait");
const isOnline = (master: RealRedis) =>
  expect.poll(() => master.command("INFO", "replication").then(String), { timeout: 30_000 }).toMatch(/state=online/);

async function stageReplicated() {
  const servers = await startReplicated(startRedis);
  await isOnline(servers.master);
  await allowed(servers.master);
  const fleet = await startFleet({ redis: servers.master, replicas: 1, more: "once: { durability: replica }" });
  const [{ order, event, events }] = fleet.replicas as [Replica];
  return { ...servers, fleet, event, events, once: (key: string) => order({ "Countersign-Once": key }) };
}

it("while no replica confirms, an order with a key is not sent, its key is free, and other orders pass; later it is sent", async () => {
  const { master, replica, fleet, once, event, events } = await stageReplicated();
  expect((await once("before")).status).toBe(200);
  replica.stop();
  const sent = fleet.simulator.seen.apiRequests.length;
  const answers = await Promise.all(["a", "b", "c", "d", "e", "f"].map(once));
  for (const answer of answers) expectFailure(answer, { status: 503, code: "once_unavailable" });
  expect(fleet.simulator.seen.apiRequests).toHaveLength(sent);
  expect((await (fleet.replicas as [Replica])[0].order()).status).toBe(200);
  expect(await event("redis_down")).toMatchObject({ node: "claims", failure: "noreplicas" });
  expect((await event("redis_down")).message).toMatch(
    new RegExp(
      `^Redis refuses commands: redis://127.0.0.1:${master.port}: no replica confirms what is written \\(noreplicas\\); .* Requests with Countersign-Once get 503$`,
    ),
  );
  // Nothing says that Redis itself does not answer.
  expect(events("redis_failed").filter(({ failure }) => failure !== "noreplicas")).toEqual([]);
  replica.cont();
  await expect.poll(async () => (await once("a")).status, { timeout: 10_000 }).toBe(200);
  expect((await once("a")).headers).toMatchObject({ "countersign-replayed": "true" });
  expect(fleet.simulator.seen.apiRequests).toHaveLength(sent + 2);
});

it("the claims of one turn share one WAIT", async () => {
  const { master, once } = await stageReplicated();
  await once("first");
  const waits = async () =>
    Number(/cmdstat_wait:calls=(\d+)/.exec(String(await master.command("INFO", "commandstats")))?.[1]);
  const before = await waits();
  expect((await Promise.all(Array.from({ length: 50 }, (_, n) => once(`k-${n}`)))).map(({ status }) => status)).toEqual(
    Array(50).fill(200),
  );
  expect((await waits()) - before).toBeLessThanOrEqual(40);
});

it("a claim whose answer was lost is found on the next connection, and is not confirmed by what that one wrote", async () => {
  const { master, replica } = await startReplicated(startRedis);
  await isOnline(master);
  await allowed(master);
  replica.stop();
  const swapOn = async (confirm?: typeof confirmByReplica) => {
    const client = createNodeClient(nodeAt(master.port), accessTo(nodeAt(master.port)));
    onTestFinished(() => client.disconnect());
    await client.connect();
    // Time enough on a busy machine.
    const connection: Pick<RedisConnection, "run"> = { run: (_, task) => task(client, systemClock.nowMs() + 5_000) };
    const next = { atMs: undefined, leaseMs: 10_000, content: "held a n", isClaim: true };
    const records = createRedisClaimRecords(connection, systemClock, confirm);
    return records.swap({ kind: "once", key: "k", lifetimeMs: 60_000 }, "", next);
  };
  expect(await swapOn()).toMatchObject({ isMade: true });
  await expect(swapOn(confirmByReplica)).rejects.toThrow("noreplicas");
  replica.cont();
  await expect.poll(() => swapOn(confirmByReplica).catch(String)).toMatchObject({ isMade: true });
});

/**
 * Orders with keys through a failover by Sentinels to a replica that has lost its connection a moment before; then each key is
 * used once more.
 * @returns how many orders the service got twice
 */
async function failOver(more: string) {
  const { master, replica, sentinels } = await startSentinels(startRedis);
  await isOnline(master);
  for (const redis of [master, replica]) await allowed(redis);
  const nodes = sentinels.map(({ port }) => `"127.0.0.1:${port}"`).join(", ");
  const fleet = await startFleet({
    redis: `{ sentinel: { name: ${watched}, nodes: [ ${nodes} ] } }`,
    replicas: 2,
    more,
  });
  const once = (key: string, at: number) =>
    (fleet.replicas[at % 2] as Replica).order(
      { "Countersign-Once": key },
      { order_amount: 1, order_currency: "EUR", order_reference: key },
    );
  const keys: string[] = [];
  const send = (count: number) => {
    const added = Array.from({ length: count }, (_, n) => `order-${keys.length + n}`);
    keys.push(...added);
    return Promise.all(added.map(once));
  };
  await send(20);
  await replica.command("REPLICAOF", "127.0.0.1", await freePort());
  await send(6);
  await master.kill();
  await expect
    .poll(() => replica.command("INFO", "replication").then(String), { timeout: 20_000 })
    .toMatch(/role:master/);
  await master.restart();
  await allowed(master);
  await isOnline(replica);
  // Each key again, until it has a final answer.
  for (const [at, key] of keys.entries()) {
    const repeat = async () => (await once(key, at)).status;
    await expect.poll(repeat, { timeout: 20_000, interval: 200 }).toBe(200);
  }
  const received = fleet.simulator.seen.apiRequests.map(({ body }) => JSON.parse(body.toString()).order_reference);
  expect(new Set(received)).toEqual(new Set(keys));
  const twice = received.length - keys.length;
  print(`a failover that loses writes, ${more}`, { orders: keys.length, twice });
  return twice;
}

it("a failover that loses the last writes: no key is sent twice; without confirmation some are", async () => {
  expect(await failOver("once: { durability: replica }")).toBe(0);
  expect(await failOver("once: { durability: none }")).toBeGreaterThan(0);
});
