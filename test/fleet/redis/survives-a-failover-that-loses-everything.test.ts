/** Row 28: a fail-over to an empty server costs each process one token request at most, and no request. */
import { describe, expect, it } from "vitest";
import { type Fleet, type Replica, startFleet } from "../../../testkit/fleet.ts";
import type { RealRedis } from "../../../testkit/redis.ts";
import { startReplicated, startSentinels, watched } from "../../../testkit/redis-fleet.ts";
import { tokensInRedis, tokensInUse, whenShared } from "./fleet-over-redis.ts";
import { print, startLoad } from "./load.ts";

const processes = 3;
const perSecond = 60;
const sharedMs = 50_000;

async function issuedByEach({ replicas }: Fleet): Promise<readonly number[]> {
  const all = await Promise.all(replicas.map((replica) => replica.metrics()));
  return all.map((metrics) => metrics.sum("countersign_token_requests_total"));
}

/** A replica that was never told anything: what a master loses that dies before it has replicated. */
async function forget(replica: RealRedis): Promise<void> {
  await replica.config("replica-read-only", "no");
  await replica.command("FLUSHALL");
  await replica.config("replica-read-only", "yes");
}

/** Two new processes at once, and nothing in Redis: one of them asks for a token, which serves both. */
async function expectSharing(fleet: Fleet, redis: RealRedis): Promise<void> {
  const { tokenRequests } = fleet.simulator.counts();
  await redis.command("FLUSHALL");
  const newcomers = await Promise.all([fleet.add(), fleet.add()]);
  const expected = Array(newcomers.length).fill(`token_${tokenRequests + 1}`);
  expect(await tokensInUse({ ...fleet, replicas: newcomers })).toEqual(expected);
  expect(fleet.simulator.counts().tokenRequests).toBe(tokenRequests + 1);
  expect(await tokensInRedis(redis)).toHaveLength(1);
}

describe("the Sentinels make an empty replica the master, while a process holds the lock", () => {
  it("each process asks for one token, no request fails, and the new master is shared", async () => {
    const { master, replica, sentinels } = await startSentinels();
    const nodes = sentinels.map(({ port }) => `"127.0.0.1:${port}"`).join(", ");
    const redis = `{ sentinel: { name: ${watched}, nodes: [ ${nodes} ] } }`;
    const fleet = await startFleet({ redis, replicas: processes });
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
    // Who waited for the holder of a lock that nobody knows any more goes ahead.
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
});

describe("a master that hung comes back after its Sentinels replaced it", () => {
  it("a process that asked it nothing meanwhile has the key of its next order where all look for it", async () => {
    const { master, replica, sentinels } = await startSentinels();
    const redis = `{ sentinel: { name: ${watched}, nodes: [ ${sentinels.map(({ port }) => `"127.0.0.1:${port}"`).join(", ")} ] } }`;
    const fleet = await startFleet({ redis, replicas: 1 });
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
});

describe("the only server that a proxy knows is demoted", () => {
  it("each process goes on with a token of its own, and they share again once it is the master", async () => {
    const { master, replica, promote } = await startReplicated();
    const fleet = await startFleet({ redis: master, replicas: processes });
    const { simulator, replicas } = fleet;
    expect(await tokensInUse(fleet)).toEqual(Array(processes).fill("token_1"));
    await promote();
    await master.command("REPLICAOF", "127.0.0.1", replica.port);
    simulator.revokeAllTokens();
    expect(await tokensInUse(fleet)).toEqual(["token_2", "token_3", "token_4"]);
    for (const { event, metrics } of replicas) {
      await event("redis_down", ({ failure }) => failure === "readonly");
      await event("redis_up", ({ awayMs }) => awayMs !== undefined);
      expect((await metrics()).sum("countersign_redis_errors_total", { kind: "readonly" })).toBeGreaterThan(0);
    }
    const load = startLoad(replicas, perSecond);
    await load.during(1_500);
    expect((await load.stop()).failures).toEqual([]);
    expect(simulator.counts()).toMatchObject({ tokenRequests: 1 + processes, tokensIssued: 1 + processes });
    await master.command("REPLICAOF", "NO", "ONE");
    await expectSharing(fleet, master);
  });
});
