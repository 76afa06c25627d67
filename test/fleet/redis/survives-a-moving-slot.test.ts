/** While a Cluster moves a slot, an ASK or TRYAGAIN that fails or hangs is a miss, and nothing worse. */
import { expect, it, onTestFinished } from "vitest";
import { redisKeys } from "../../../src/adapters/redis/scripts.ts";
import { sleep, systemClock } from "../../../src/model/clock.ts";
import { aclUser } from "../../../testkit/acl.ts";
import { acquire } from "../../../testkit/contract/refresh-lock.ts";
import { startFleet } from "../../../testkit/fleet.ts";
import type { RealRedis } from "../../../testkit/redis.ts";
import { startCluster } from "../../../testkit/redis-fleet.ts";
import { accessTo, nodeAt, openReplica } from "../../../testkit/redis-replica.ts";

const key = "23".repeat(32);

/** Begins to move the slot of this key, and loses what was there, as if it had moved already. */
async function beginMoving(
  nodes: readonly RealRedis[],
  name: string,
): Promise<{ owner: RealRedis; target: RealRedis }> {
  const [first = expect.unreachable()] = nodes;
  const slot = Number(await first.command("CLUSTER", "KEYSLOT", name));
  const at = Math.floor(slot / Math.ceil(16_384 / nodes.length));
  const [owner = expect.unreachable(), target = expect.unreachable()] = [nodes[at], nodes[(at + 1) % nodes.length]];
  await owner.command("DEL", name);
  await target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", String(await owner.command("CLUSTER", "MYID")));
  await owner.command("CLUSTER", "SETSLOT", slot, "MIGRATING", String(await target.command("CLUSTER", "MYID")));
  return { owner, target };
}

/** What no caller waits for must not fail unheard: Node ends the process for it. */
function hearUnhandled(): readonly string[] {
  const unhandled: string[] = [];
  const hear = (reason: unknown) => void unhandled.push(String(reason));
  process.on("unhandledRejection", hear);
  onTestFinished(() => void process.off("unhandledRejection", hear));
  return unhandled;
}

function openOn(nodes: readonly RealRedis[]) {
  const [first, ...rest] = nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  if (first === undefined) throw new Error("no node");
  return openReplica(accessTo(nodeAt(first.port), { place: { kind: "cluster", nodes: [first, ...rest] } }));
}

it.each([
  ["may ask the new owner, as documented", "+asking"],
  ["may not", "-asking"],
])("a replica goes on, and refreshes on its own: its user %s", async (_, rule) => {
  const nodes = await startCluster();
  for (const node of nodes) await node.command("ACL", "SETUSER", aclUser.username, rule);
  const cluster = `{ cluster: { nodes: [ ${nodes.map(({ port }) => `"127.0.0.1:${port}"`).join(", ")} ] } }`;
  const fleet = await startFleet({ redis: cluster, replicas: 1 });
  const [replica = expect.unreachable()] = fleet.replicas;
  expect((await replica.order()).status).toBe(200);
  const found = await Promise.all(nodes.map((node) => node.command("KEYS", "countersign:*:token")));
  await beginMoving(nodes, String(found.flat()[0]));
  for (let revoked = 0; revoked < 2; revoked++) {
    fleet.simulator.revokeAllTokens();
    expect((await replica.order()).status).toBe(200);
  }
  expect(fleet.simulator.counts().tokenRequests).toBe(3);
  const metrics = await replica.metrics();
  expect(metrics.sum("countersign_redis_errors_total")).toBeGreaterThan(0);
  expect(metrics.sum("countersign_redis_errors_total", { kind: "other" })).toBe(0);
  expect(replica.events("defect")).toEqual([]);
  replica.signal("SIGTERM");
  expect(await replica.ended).toBe(0);
});

it("a node that hangs while its slot arrives is a miss, and so is what the client had asked it", async () => {
  const nodes = await startCluster();
  const { store, lock, recorder } = openOn(nodes);
  await store.read(key);
  const unhandled = hearUnhandled();
  const { target } = await beginMoving(nodes, redisKeys(key).token);
  // All is well, and the client is connected to the new owner.
  await (await acquire(lock, key)).release();
  target.stop();
  expect(await lock.tryAcquire(key)).toBe("unavailable");
  expect((await store.read(key)).token).toBeUndefined();
  // Longer than the client waits for an answer to ASKING, of which nobody tells.
  await sleep(systemClock, 1_500);
  target.cont();
  await recorder.nth("redis_up", 2);
  expect(recorder.count("redis_failed")).toBeGreaterThan(0);
  expect(unhandled).toEqual([]);
});
