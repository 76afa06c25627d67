/** Row 97: neither a foreign lock key nor a lost majority of `lockNodes` costs a token for each replica. */
import { expect, it, vi } from "vitest";
import { startFleet } from "../../../testkit/fleet.ts";
import { startMasters } from "../../../testkit/redis-fleet.ts";
import { playFleet, tokensInRedis, tokensInUse } from "./fleet-over-redis.ts";
import { burst } from "./load.ts";

const replicas = 4;
const callersEach = 5;

it.each([
  ["no end", []],
  ["an end in an hour", ["PX", 3_600_000]],
])("a lock key with %s is taken over: a revoked token is replaced at once, by one request", async (_, end) => {
  await playFleet({ replicas }, async (fleet, redis) => {
    expect(await tokensInUse(fleet)).toEqual(Array(replicas).fill("token_1"));
    const [token = ""] = await tokensInRedis(redis);
    await redis.command("SET", token.replace(/token$/, "lock"), "left by nobody who lives", ...end);
    fleet.simulator.revokeAllTokens();
    const { statuses, tookMs } = await burst(fleet.replicas, callersEach);
    expect(statuses).toEqual({ 200: replicas * callersEach });
    // Less than callers wait for a token.
    expect(tookMs).toBeLessThan(5_000);
    expect(fleet.simulator.counts().tokenRequests).toBe(2);
  });
});

it("a revocation costs one token though two of three masters of the lock are away", async () => {
  const [cache, ...others] = await startMasters();
  const lockNodes = others.map(({ url }) => `"${url}"`).join(", ");
  const fleet = await startFleet({ redis: `{ url: "${cache.url}", lockNodes: [ ${lockNodes} ] }`, replicas });
  expect(await tokensInUse(fleet)).toEqual(Array(replicas).fill("token_1"));
  for (const other of others) await other.kill();
  await vi.waitFor(async () => expect(await fleet.sum("countersign_redis_up")).toBe(replicas), { timeout: 20_000 });
  for (const revocation of [1, 2]) {
    fleet.simulator.revokeAllTokens();
    const { statuses } = await burst(fleet.replicas, callersEach);
    expect(statuses).toEqual({ 200: replicas * callersEach });
    expect(fleet.simulator.counts().tokenRequests).toBe(1 + revocation);
  }
});
