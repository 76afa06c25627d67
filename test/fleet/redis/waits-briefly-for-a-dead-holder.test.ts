/** Row 23: when the lock's holder is killed, the callers of the others have a token within 2.5 s, for one request. */
import { expect, it } from "vitest";
import type { Fleet, Replica } from "../../../testkit/fleet.ts";
import type { RealRedis } from "../../../testkit/redis.ts";
import { heldLock, lastTokens, playFleet, tokensInUse, whenTried } from "./fleet-over-redis.ts";
import { burst, print } from "./load.ts";

const callersEach = 5;
/** What a slow authorization server takes. */
const fetchMs = 1_500;

/** Callers wait at the living, the holder is killed, and the living serve them all with the token named. */
async function killAndGoOn(fleet: Fleet, redis: RealRedis, holder: Replica, token: string): Promise<void> {
  const { simulator } = fleet;
  const living = fleet.replicas.filter((replica) => replica !== holder);
  const lock = await heldLock(redis);
  expect(lock).toBeDefined();
  const { tokenRequests } = simulator.counts();
  const waiting = burst(living, callersEach);
  waiting.catch(() => {});
  await whenTried(living, "held");
  holder.signal("SIGKILL");
  expect(await holder.ended).toBe("SIGKILL");
  const killedMs = performance.now();
  // The dead cannot give it back.
  expect(await heldLock(redis)).toBe(lock);
  const { statuses } = await waiting;
  print(`${living.length} replicas served all callers after the kill, in ms`, { after: performance.now() - killedMs });
  expect(statuses).toEqual({ 200: living.length * callersEach });
  expect(simulator.counts().tokenRequests).toBe(tokenRequests + 1);
  expect(lastTokens(fleet, living.length * callersEach)).toEqual([token]);
  expect(await heldLock(redis)).toBeUndefined();
}

it.each([2, 8])("%i replicas whose token was revoked have a new one before their callers give up", async (replicas) => {
  await playFleet({ replicas }, async (fleet, redis) => {
    const { simulator } = fleet;
    const [holder = expect.unreachable()] = fleet.replicas;
    await tokensInUse(fleet);
    simulator.revokeAllTokens();
    simulator.faults.add({ host: "login", kind: "hang" });
    const lost = holder.order().catch((error: unknown) => error);
    await simulator.seen.whenTokenRequests(2);
    simulator.faults.add({ host: "login", kind: "delay", delayMs: fetchMs });
    await killAndGoOn(fleet, redis, holder, "token_3");
    expect(await lost).toBeInstanceOf(Error);
  });
});

it("replicas that have no token yet go on when the holder is killed", async () => {
  // Callers that come before the holder dies outwait it.
  const more = "timeouts: { token: 30s, request: 40s }";
  await playFleet({ replicas: 0, more }, async (fleet, redis) => {
    const { simulator } = fleet;
    simulator.faults.add({ host: "login", kind: "hang" });
    const holder = await fleet.add();
    await simulator.seen.whenTokenRequests(1);
    await Promise.all([fleet.add(), fleet.add(), fleet.add()]);
    await killAndGoOn(fleet, redis, holder, "token_2");
    expect(simulator.counts()).toMatchObject({ tokenRequests: 2, unauthorized: 0, accepted: 3 * callersEach });
  });
});
