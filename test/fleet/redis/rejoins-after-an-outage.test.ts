/** Replicas with tokens of their own share the newest one once Redis is back, for one token request. */
import { describe, expect, it } from "vitest";
import { type Fleet, startFleet } from "../../../testkit/fleet.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { tokensInUse, whenShared } from "./fleet-over-redis.ts";
import { startLoad } from "./load.ts";

const processes = 4;
const sharedMs = 50_000;

/** A fleet whose replicas have all used one token, and have each had another one issued while Redis was away. */
async function stageDiverged(lifetimeSeconds: number): Promise<{ fleet: Fleet; redis: RealRedis }> {
  const redis = await startRedis();
  const simulator = { tokenLifetimeSeconds: lifetimeSeconds };
  const fleet = await startFleet({ redis, replicas: processes, simulator });
  expect(await tokensInUse(fleet)).toEqual(Array(processes).fill("token_1"));
  await redis.kill();
  await Promise.all(fleet.replicas.map((replica) => replica.event("redis_down")));
  fleet.simulator.revokeAllTokens();
  expect(await tokensInUse(fleet)).toEqual(["token_2", "token_3", "token_4", "token_5"]);
  return { fleet, redis };
}

describe("four replicas with a token each, when Redis is back", () => {
  it("have one token by the next refresh, with one token request", async () => {
    const { fleet, redis } = await stageDiverged(12);
    const { simulator, replicas } = fleet;
    await redis.restart();
    await whenShared(fleet, redis, sharedMs);
    expect(simulator.counts().tokenRequests).toBe(processes + 1);
    // A used token is refreshed when it is due, and nobody's before.
    const load = startLoad(replicas, 20);
    await simulator.seen.whenTokenAnswers(processes + 2);
    expect(simulator.counts().tokenRequests).toBe(processes + 2);
    const next = ({ token }: { token: string | undefined }) => token === "token_6";
    while (!simulator.seen.apiRequests.slice(-processes).every(next)) await load.during(100);
    await load.stop();
    expect(await tokensInUse(fleet)).toEqual(Array(processes).fill("token_6"));
    expect(simulator.counts()).toMatchObject({ tokenRequests: processes + 2, tokensIssued: processes + 2 });
    // Each replica's first try after the revocation, and none later.
    expect(simulator.counts().unauthorized).toBe(processes);
  });
});

describe("a replica without a token, when Redis is back", () => {
  it("takes the published one, whether it starts then or could not get any before", async () => {
    const { fleet, redis } = await stageDiverged(3_600);
    const { simulator, replicas } = fleet;
    await simulator.stopLogin();
    const late = await fleet.add();
    expect((await late.order()).json).toMatchObject({ status: 503, code: "token_unavailable" });
    await redis.restart();
    await whenShared(fleet, redis, sharedMs);
    while ((await late.order()).status !== 200) await late.event("redis_up", ({ awayMs }) => awayMs !== undefined);
    // Each replica publishes within a second of its own, so by then the newest is there.
    const load = startLoad(replicas, 20);
    await load.during(2_000);
    expect((await load.stop()).failures).toEqual([]);
    await fleet.add();
    // On a busy machine the replica with the newest may be late.
    while ((await tokensInUse(fleet)).at(-1) !== "token_5" && fleet.replicas.length < processes + 5) await fleet.add();
    const tokens = await tokensInUse(fleet);
    expect(tokens.at(-1)).toBe("token_5");
    // It may have looked before the newest was published.
    expect(["token_2", "token_3", "token_4", "token_5"]).toContain(tokens[processes]);
    expect(simulator.counts()).toMatchObject({ tokenRequests: processes + 1, tokensIssued: processes + 1 });
  });
});
