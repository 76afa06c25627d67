/**
 * Row 23: the one process that asks for a token is killed while it holds the lock. The others go on by themselves when
 * the lock has ended, one of them asks, and every one of their callers is served.
 */
import { expect, it } from "vitest";
import type { Fleet, Replica } from "../../testkit/fleet.ts";
import type { RealRedis } from "../../testkit/redis.ts";
import { burst } from "../fleet/redis/burst.ts";
import { playFleet } from "../fleet/redis/fleet-over-redis.ts";
import { heldLock, lastTokens, whenTried } from "../fleet/redis/held-lock.ts";
import { tokensInUse } from "../fleet/redis/shared-token.ts";
import { print } from "../fleet/redis/steady-load.ts";

const others = 3;
const callersEach = 5;
/** The promise is 5 s; ten times that is more than callers wait. */
const wentOnMs = 30_000;
/** Callers that come before the holder dies outwait it. */
const more = "timeouts: { token: 30s, request: 40s }";

/** Callers wait at the living, the holder is killed, and the living serve them all with the token named. */
async function killAndGoOn(fleet: Fleet, redis: RealRedis, holder: Replica, token: string): Promise<void> {
  const { simulator } = fleet;
  const living = fleet.replicas.filter((replica) => replica !== holder);
  const lock = await heldLock(redis);
  expect(lock).toBeDefined();
  const waiting = burst(living, callersEach);
  waiting.catch(() => {});
  await whenTried(living, "held");
  const { tokenRequests } = simulator.counts();
  holder.signal("SIGKILL");
  expect(await holder.ended).toBe("SIGKILL");
  const killedMs = performance.now();
  // The dead cannot give it back.
  expect(await heldLock(redis)).toBe(lock);
  const { statuses } = await waiting;
  const tookMs = performance.now() - killedMs;
  print("the last caller was served after the holder's death, in ms", { after: tookMs });
  expect(statuses).toEqual({ 200: living.length * callersEach });
  expect(tookMs).toBeLessThan(wentOnMs);
  expect(simulator.counts().tokenRequests).toBe(tokenRequests + 1);
  expect(lastTokens(fleet, living.length * callersEach)).toEqual([token]);
  expect(await heldLock(redis)).toBeUndefined();
}

it("the holder is killed before any replica has a token", async () => {
  await playFleet({ replicas: 0, more }, async (fleet, redis) => {
    const { simulator } = fleet;
    simulator.faults.add({ host: "login", kind: "hang" });
    const holder = await fleet.add();
    await simulator.seen.whenTokenRequests(1);
    await Promise.all(Array.from({ length: others }, () => fleet.add()));
    await killAndGoOn(fleet, redis, holder, "token_2");
    expect(simulator.counts()).toMatchObject({ tokenRequests: 2, unauthorized: 0, accepted: others * callersEach });
  });
});

it("the holder is killed while the token that all of them have is revoked", async () => {
  await playFleet({ replicas: others + 1, more }, async (fleet, redis) => {
    const { simulator, replicas } = fleet;
    const [holder] = replicas;
    if (holder === undefined) throw new Error("no holder");
    expect(await tokensInUse(fleet)).toEqual(Array(others + 1).fill("token_1"));
    simulator.revokeAllTokens();
    simulator.faults.add({ host: "login", kind: "hang" });
    const lost = holder.order().catch((error: unknown) => error);
    await simulator.seen.whenTokenRequests(2);
    await killAndGoOn(fleet, redis, holder, "token_3");
    expect(await lost).toBeInstanceOf(Error);
    expect(simulator.counts()).toMatchObject({ tokenRequests: 3, tokensIssued: 3 });
  });
});
