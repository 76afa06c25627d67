/**
 * A fail-over to an empty server causes one token request per process at most, and fails no request; the same holds for an
 * outage, after which the newest token is shared. While a Cluster moves a slot, an ASK or TRYAGAIN that fails or hangs is a miss.
 */
import { expect, it, onTestFinished } from "vitest";
import { redisKeys } from "../../../src/adapters/redis/scripts.ts";
import { sleep, systemClock } from "../../../src/model/clock.ts";
import { aclUser } from "../../../testkit/acl.ts";
import { acquire } from "../../../testkit/contract/refresh-lock.ts";
import { type Fleet, type Replica, startFleet } from "../../../testkit/fleet.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { startCluster, startSentinels, watched } from "../../../testkit/redis-fleet.ts";
import { accessTo, nodeAt, openReplica } from "../../../testkit/redis-replica.ts";
import { tokensInRedis, tokensInUse, whenShared } from "./fleet-over-redis.ts";
import { print, startLoad } from "./load.ts";

const processes = 3;
const perSecond = 60;
const sharedMs = 50_000;

/** The nodes as a configuration lists them. */
const listed = (nodes: readonly RealRedis[]) => nodes.map(({ port }) => `"127.0.0.1:${port}"`).join(", ");

const bySentinels = (sentinels: readonly RealRedis[]) =>
  `{ sentinel: { name: ${watched}, nodes: [ ${listed(sentinels)} ] } }`;

it("the Sentinels make an empty replica the master, while a process holds the lock: one token each, no request fails", async () => {
  const { master, replica, sentinels } = await startSentinels(startRedis);
  const fleet = await startFleet({ redis: bySentinels(sentinels), replicas: processes });
  const { simulator, replicas } = fleet;
  expect(await tokensInUse(fleet)).toEqual(Array(processes).fill("token_1"));
  const before = await issuedByEach(fleet);
  const load = startLoad(replicas, perSecond);
  await load.during(1_500);

  const login = simulator.faults.add({ host: "login", kind: "hang", times: "until_cleared" });
  simulator.revokeAllTokens();
  await login.whenPlayed(1);
  await forget(replica);
  await master.kill();
  const sinceMs = performance.now();
  // The processes that waited for the holder of the lost lock continue.
  await login.whenPlayed(processes);
  login.clear();
  login.release();
  await Promise.all(replicas.map(({ event }) => event("redis_up", ({ awayMs }) => awayMs !== undefined)));
  const upMs = performance.now() - sinceMs;
  await whenShared(fleet, replica, sharedMs);
  await load.during(500);
  expect((await load.stop()).failures).toEqual([]);
  const issued = (await issuedByEach(fleet)).map((count, n) => count - (before[n] ?? 0));
  expect(issued).toEqual(Array(processes).fill(1));
  expect(simulator.counts()).toMatchObject({ tokenRequests: 1 + processes, tokensIssued: 1 + processes });

  await (await fleet.add()).order();
  expect(simulator.counts().tokenRequests).toBe(1 + processes);
  await expectSharing(fleet, replica);
  print("failed over, in ms", { back: upMs });
});

it("a master that hung resumes after it was replaced: an idle process stores its next order's key at the new master, like all others", async () => {
  const { master, replica, sentinels } = await startSentinels(startRedis);
  const fleet = await startFleet({ redis: bySentinels(sentinels), replicas: 1 });
  const [idle] = fleet.replicas as [Replica];
  expect((await idle.order()).status).toBe(200);
  master.stop();
  const masters = () =>
    Promise.all(sentinels.map((each) => each.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", watched)));
  await expect.poll(masters).toEqual(sentinels.map(() => ["127.0.0.1", String(replica.port)]));
  master.cont();
  const once = async () => (await idle.order({ "Countersign-Once": "order-1" })).status;
  await expect.poll(once).toBe(200);
  expect(await master.command("KEYS", "countersign:*:once")).toEqual([]);
  expect(await replica.command("KEYS", "countersign:*:once")).toHaveLength(1);
});

/** A fleet whose replicas have shared one token, and then got one each while Redis was away. */
async function stageDiverged(tokenLifetimeSeconds: number) {
  const redis = await startRedis();
  const fleet = await startFleet({ redis, replicas: processes, simulator: { tokenLifetimeSeconds } });
  expect(await tokensInUse(fleet)).toEqual(Array(processes).fill("token_1"));
  await redis.kill();
  await Promise.all(fleet.replicas.map((replica) => replica.event("redis_down")));
  fleet.simulator.revokeAllTokens();
  expect(await tokensInUse(fleet)).toEqual(["token_2", "token_3", "token_4"]);
  return { fleet, redis };
}

it("replicas with a token each share one after the outage by the next refresh, with one token request", async () => {
  const { fleet, redis } = await stageDiverged(12);
  const { simulator, replicas } = fleet;
  await redis.restart();
  await whenShared(fleet, redis, sharedMs);
  expect(simulator.counts().tokenRequests).toBe(processes + 1);
  // A used token is refreshed when it is due, and not before.
  const load = startLoad(replicas, 20);
  await simulator.seen.whenTokenAnswers(processes + 2);
  expect(simulator.counts().tokenRequests).toBe(processes + 2);
  const next = ({ token }: { token: string | undefined }) => token === "token_5";
  while (!simulator.seen.apiRequests.slice(-processes).every(next)) await load.during(100);
  await load.stop();
  expect(await tokensInUse(fleet)).toEqual(Array(processes).fill("token_5"));
  expect(simulator.counts()).toMatchObject({ tokenRequests: processes + 2, tokensIssued: processes + 2 });
  // Only each replica's first try after the revocation gets a 401.
  expect(simulator.counts().unauthorized).toBe(processes);
});

it("when Redis is back, a replica without a token uses the published one, whether it has just started or not", async () => {
  const { fleet, redis } = await stageDiverged(3_600);
  const { simulator, replicas } = fleet;
  await simulator.stopLogin();
  const late = await fleet.add();
  expect((await late.order()).json).toMatchObject({ status: 503, code: "token_unavailable" });
  await redis.restart();
  await whenShared(fleet, redis, sharedMs);
  while ((await late.order()).status !== 200) await late.event("redis_up", ({ awayMs }) => awayMs !== undefined);
  // Each replica publishes its token within a second, so the newest is in Redis by then.
  const load = startLoad(replicas, 20);
  await load.during(2_000);
  expect((await load.stop()).failures).toEqual([]);
  await fleet.add();
  // On a busy machine the replica with the newest token may be late.
  while ((await tokensInUse(fleet)).at(-1) !== "token_4" && fleet.replicas.length < processes + 5) await fleet.add();
  const tokens = await tokensInUse(fleet);
  expect(tokens.at(-1)).toBe("token_4");
  // The replica may have read before the newest token was published.
  expect(["token_2", "token_3", "token_4"]).toContain(tokens[processes]);
  expect(simulator.counts()).toMatchObject({ tokenRequests: processes + 1, tokensIssued: processes + 1 });
});

const key = "23".repeat(32);

/** Begins to move the slot of this key, and deletes its keys, as if they had moved already. */
async function beginMoving(nodes: readonly RealRedis[], name: string) {
  const [first = expect.unreachable()] = nodes;
  const slot = Number(await first.command("CLUSTER", "KEYSLOT", name));
  const at = Math.floor(slot / Math.ceil(16_384 / nodes.length));
  const [owner = expect.unreachable(), target = expect.unreachable()] = [nodes[at], nodes[(at + 1) % nodes.length]];
  await owner.command("DEL", name);
  await target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", String(await owner.command("CLUSTER", "MYID")));
  await owner.command("CLUSTER", "SETSLOT", slot, "MIGRATING", String(await target.command("CLUSTER", "MYID")));
  return target;
}

/** Collects unhandled rejections, for which Node would end the process. */
function hearUnhandled(): readonly string[] {
  const unhandled: string[] = [];
  const hear = (reason: unknown) => void unhandled.push(String(reason));
  process.on("unhandledRejection", hear);
  onTestFinished(() => void process.off("unhandledRejection", hear));
  return unhandled;
}

function openOn(nodes: readonly RealRedis[]) {
  const [first = expect.unreachable(), ...rest] = nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  return openReplica(accessTo(nodeAt(first.port), { place: { kind: "cluster", nodes: [first, ...rest] } }));
}

it.each([
  ["may ask the new owner, as documented", "+asking"],
  ["may not", "-asking"],
])("a replica continues, and refreshes on its own: its user %s", async (_, rule) => {
  const nodes = await startCluster(startRedis);
  for (const node of nodes) await node.command("ACL", "SETUSER", aclUser.username, rule);
  const fleet = await startFleet({ redis: `{ cluster: { nodes: [ ${listed(nodes)} ] } }`, replicas: 1 });
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

it("a node that hangs while its slot arrives is a miss, and so are the client's pending commands to it", async () => {
  const nodes = await startCluster(startRedis);
  const { store, lock, recorder } = openOn(nodes);
  await store.read(key);
  const unhandled = hearUnhandled();
  const target = await beginMoving(nodes, redisKeys(key).token);
  // Everything works, and the client is connected to the new owner.
  await (await acquire(lock, key)).release();
  target.stop();
  expect(await lock.tryAcquire(key)).toBe("unavailable");
  expect((await store.read(key)).token).toBeUndefined();
  // Longer than the client waits for an answer to ASKING, whose failure is not reported.
  await sleep(systemClock, 1_500);
  target.cont();
  await recorder.nth("redis_up", 2);
  expect(recorder.count("redis_failed")).toBeGreaterThan(0);
  expect(unhandled).toEqual([]);
});

async function issuedByEach({ replicas }: Fleet): Promise<readonly number[]> {
  const all = await Promise.all(replicas.map((replica) => replica.metrics()));
  return all.map((metrics) => metrics.sum("countersign_token_requests_total"));
}

/** Empties a replica, as if the master died before it had replicated. */
async function forget(replica: RealRedis): Promise<void> {
  await replica.config("replica-read-only", "no");
  await replica.command("FLUSHALL");
  await replica.config("replica-read-only", "yes");
}

/**
 * Starts two processes at once with nothing in Redis, and expects one token request and one token for both. The others end first:
 * each publishes its token again for up to two seconds after Redis is back.
 */
async function expectSharing(fleet: Fleet, redis: RealRedis): Promise<void> {
  const { tokenRequests } = fleet.simulator.counts();
  for (const replica of fleet.replicas) replica.signal("SIGTERM");
  await Promise.all(fleet.replicas.map(({ ended }) => ended));
  await redis.command("FLUSHALL");
  const newcomers = await Promise.all([fleet.add(), fleet.add()]);
  const expected = Array(newcomers.length).fill(`token_${tokenRequests + 1}`);
  expect(await tokensInUse({ ...fleet, replicas: newcomers })).toEqual(expected);
  expect(fleet.simulator.counts().tokenRequests).toBe(tokenRequests + 1);
  expect(await tokensInRedis(redis)).toHaveLength(1);
}
