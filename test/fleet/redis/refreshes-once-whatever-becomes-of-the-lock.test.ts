/**
 * When the lock's holder is killed, the callers of the others have a token within 2.5 s, by one request;
 * a holder that resumes after its lock has ended changes neither the newer token nor the new lock; with a lost majority of `lockNodes`
 * there is still one token for all; and a process that is told to end leaves no lock behind.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { expect, it, vi } from "vitest";
import { type Fleet, type FleetOptions, type Replica, startFleet } from "../../../testkit/fleet.ts";
import { listen } from "../../../testkit/listen.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { startMasters } from "../../../testkit/redis-fleet.ts";
import {
  heldLock,
  lastTokens,
  playFleet,
  refuseNext,
  tokensInRedis,
  tokensInUse,
  whenTried,
} from "./fleet-over-redis.ts";
import { burst, print } from "./load.ts";

const callersEach = 5;
/** Long enough for callers that come before the holder dies or stops. */
const patient = "timeouts: { token: 30s, request: 40s }";

/** The time that a slow authorization server takes. */
const fetchMs = 1_500;

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

it("replicas that have no token yet get one when the holder is killed", async () => {
  await playFleet({ replicas: 0, more: patient }, async (fleet, redis) => {
    const { simulator } = fleet;
    simulator.faults.add({ host: "login", kind: "hang" });
    const holder = await fleet.add();
    await simulator.seen.whenTokenRequests(1);
    await Promise.all([fleet.add(), fleet.add(), fleet.add()]);
    await killAndGoOn(fleet, redis, holder, "token_2");
    expect(simulator.counts()).toMatchObject({ tokenRequests: 2, unauthorized: 0, accepted: 3 * callersEach });
  });
});

/** The replica's token is refused once, and its order is then served with this token. */
async function refresh(fleet: Fleet, replica: Replica, token: string): Promise<void> {
  refuseNext(fleet);
  expect((await replica.order()).status).toBe(200);
  expect(lastTokens(fleet, 1)).toEqual([token]);
}

/** The replica's token is refused once, and it holds the lock while the authorization server does not answer, until `release`. */
async function holdLock(fleet: Fleet, redis: RealRedis, replica: Replica) {
  const { simulator } = fleet;
  const { tokenRequests } = simulator.counts();
  const { release } = simulator.faults.add({ host: "login", kind: "hang" });
  refuseNext(fleet);
  const answered = replica.order();
  answered.catch(() => {});
  await simulator.seen.whenTokenRequests(tokenRequests + 1);
  const lock = (await heldLock(redis)) ?? expect.unreachable();
  return { lock, answered, release };
}

it("a holder that resumes late uses the newer token, and leaves another's lock alone", async () => {
  await playFleet({ replicas: 3, more: `${patient}\nlog: { level: debug }` }, async (fleet, redis) => {
    const { simulator, replicas } = fleet;
    const [late = expect.unreachable(), next = expect.unreachable(), third = expect.unreachable()] = replicas;
    expect(await tokensInUse(fleet)).toEqual(Array(3).fill("token_1"));
    const storedToken = async () => redis.command("GET", (await tokensInRedis(redis))[0] ?? "");

    const lost = await holdLock(fleet, redis, late);
    late.signal("SIGSTOP");
    await vi.waitFor(async () => expect(await heldLock(redis)).toBeUndefined(), { timeout: 10_000, interval: 20 });
    await refresh(fleet, next, "token_3");
    await refresh(fleet, third, "token_3");
    const newest = await storedToken();
    const held = await holdLock(fleet, redis, third);
    expect(held.lock).not.toBe(lost.lock);

    // The replica resumes and gets token_2, which is valid, but not the newest.
    lost.release();
    await simulator.seen.whenTokenAnswers(3);
    late.signal("SIGCONT");
    expect((await lost.answered).status).toBe(200);
    expect(lastTokens(fleet, 1)).toEqual(["token_3"]);
    // The log line may come after the answer.
    await vi.waitFor(() => {
      expect(late.events("token_requested").at(-1)).toMatchObject({ result: "issued", reason: "unauthorized" });
      expect(late.events("token_adopted").at(-1)).toMatchObject({ issuedHere: false });
    });
    expect(await storedToken()).toBe(newest);
    expect(await heldLock(redis)).toBe(held.lock);

    // The third replica completes its refresh undisturbed, and all replicas use its token.
    held.release();
    expect((await held.answered).status).toBe(200);
    expect(lastTokens(fleet, 1)).toEqual(["token_4"]);
    expect(await heldLock(redis)).toBeUndefined();
    for (const replica of [late, next]) await refresh(fleet, replica, "token_4");
    await fleet.add();
    expect(await tokensInUse(fleet)).toEqual(Array(4).fill("token_4"));
    expect(simulator.counts()).toMatchObject({ tokenRequests: 4, tokensIssued: 4, unauthorized: 0 });
  });
});

it("after a revocation one token is issued, even if two of three masters of the lock are away", async () => {
  const [cache, ...others] = await startMasters(startRedis);
  const lockNodes = others.map(({ url }) => `"${url}"`).join(", ");
  const fleet = await startFleet({ redis: `{ url: "${cache.url}", lockNodes: [ ${lockNodes} ] }`, replicas: 4 });
  expect(await tokensInUse(fleet)).toEqual(Array(4).fill("token_1"));
  for (const other of others) await other.kill();
  await vi.waitFor(async () => expect(await fleet.sum("countersign_redis_up")).toBe(4), { timeout: 20_000 });
  for (const revocation of [1, 2]) {
    fleet.simulator.revokeAllTokens();
    const { statuses } = await burst(fleet.replicas, callersEach);
    expect(statuses).toEqual({ 200: 4 * callersEach });
    expect(fleet.simulator.counts().tokenRequests).toBe(1 + revocation);
  }
});

/** One process, optionally with another authorization server than the simulator's. */
async function startOne(options: Omit<FleetOptions, "redis"> = {}) {
  const redis = await startRedis();
  const [replica = expect.unreachable()] = (await startFleet({ ...options, redis, replicas: 1 })).replicas;
  return { redis, replica };
}

it("a process that ends during a refresh releases the lock", async () => {
  const login = createServer(() => {});
  const authUrl = `http://127.0.0.1:${await listen(login)}`;
  const asked = once(login, "request");
  const { redis, replica } = await startOne({ authUrl });
  await asked;
  expect(await heldLock(redis)).toBeDefined();
  replica.signal("SIGTERM");
  expect(await replica.ended).toBe(0);
  expect(await heldLock(redis)).toBeUndefined();
});

it("a process ends at once even if Redis hangs", async () => {
  const { redis, replica } = await startOne();
  await replica.order();
  redis.stop();
  const sinceMs = performance.now();
  replica.signal("SIGTERM");
  expect(await replica.ended).toBe(0);
  expect(performance.now() - sinceMs).toBeLessThan(10_000);
  redis.cont();
});

/** Callers wait at the other replicas, the holder is killed, and the others serve all callers with this token. */
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
  // A killed holder cannot release the lock.
  expect(await heldLock(redis)).toBe(lock);
  const { statuses } = await waiting;
  print(`${living.length} replicas served all callers after the kill, in ms`, { after: performance.now() - killedMs });
  expect(statuses).toEqual({ 200: living.length * callersEach });
  expect(simulator.counts().tokenRequests).toBe(tokenRequests + 1);
  expect(lastTokens(fleet, living.length * callersEach)).toEqual([token]);
  expect(await heldLock(redis)).toBeUndefined();
}
