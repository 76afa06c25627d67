/**
 * Over four replicas: an authorization server that is slow gets one token request, a lost answer delays no
 * order for longer than its attempt takes, and at a site with a bridge each order of an outage is signed.
 */
import { setTimeout as pass } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { type FaultProxy, startFaultProxy } from "../../../testkit/fault-proxy.ts";
import type { Fleet } from "../../../testkit/fleet.ts";
import { startForwardProxy } from "../../../testkit/forward-proxy.ts";
import { audience, bothSite, canaries, simulatedSites } from "../../../testkit/simulated-sites.ts";
import { heldLock, playFleet, tokensInUse, whenTried } from "./fleet-over-redis.ts";
import { burst, print, startLoad } from "./load.ts";

const replicas = 4;
const callersEach = 10;
/** Longer than the lock's lease of 1.5 s. */
const slowMs = 4_000;

it("an authorization server that takes 4 s gets one request, and all replicas use its token", async () => {
  await playFleet({ replicas: 0 }, async (fleet, redis) => {
    const { simulator } = fleet;
    const hang = simulator.faults.add({ host: "login", kind: "hang" });
    const started = Promise.all(Array.from({ length: replicas }, () => fleet.add()));
    await simulator.seen.whenTokenRequests(1);
    const sinceMs = performance.now();
    const lock = await heldLock(redis);
    await whenTried(await started);
    await pass(slowMs - (performance.now() - sinceMs));
    expect(lock).toBeDefined();
    expect(await heldLock(redis)).toBe(lock);
    hang.release();
    expect(await tokensInUse(fleet)).toEqual(Array(replicas).fill("token_1"));
    expect(simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 1, unauthorized: 0 });
  });
});

/** The least time between two token requests of a replica. */
const spacingMs = 1_000;
/** A name that only forward proxies can resolve, so that each replica has its own way to the authorization server. */
const loginHost = "login.sandbox.example";

/** Orders through all replicas until each gets 200 again; returns when the last other answer came, and how many there were. */
async function orderUntilServed({ replicas: all }: Fleet, sinceMs: number) {
  let lost = 0;
  let lastLostMs = 0;
  const caller = async (replica: (typeof all)[number]) => {
    while ((await replica.order()).status !== 200) {
      lost += 1;
      lastLostMs = performance.now() - sinceMs;
    }
  };
  // A new caller at each replica twice a second, for longer than callers wait.
  const callers: Promise<void>[] = [];
  for (let n = 0; n < 14; n++) {
    callers.push(...all.map(caller));
    await pass(500);
  }
  await Promise.all(callers);
  return { lost, lastLostMs };
}

it("a lost answer of the authorization server delays orders for one attempt only, at all replicas", async () => {
  await playFleet({ replicas }, async (fleet) => {
    const { simulator } = fleet;
    expect(await tokensInUse(fleet)).toEqual(Array(replicas).fill("token_1"));
    await pass(spacingMs);
    simulator.faults.add({ host: "login", kind: "hang" });
    const revokedMs = performance.now();
    simulator.revokeAllTokens();
    const { lost, lastLostMs } = await orderUntilServed(fleet, revokedMs);
    print("one lost answer", { lost, lastLostMs });
    expect(lastLostMs).toBeLessThan(8_000);
    expect(simulator.counts().tokenRequests).toBe(3);
    expect(new Set(await tokensInUse(fleet)).size).toBe(1);
  });
});

it.each<[string, (way: FaultProxy) => void]>([
  ["swallows everything", (way) => way.toTarget.become({ blackHole: true })],
  [
    "refuses connections",
    (way) => {
      way.refuse();
      way.reset();
    },
  ],
])("a replica whose way to the authorization server %s delays no other replica", async (_, cut) => {
  const proxy = await startForwardProxy();
  await playFleet({ replicas: 0, authUrl: `http://${loginHost}` }, async (fleet) => {
    const { simulator } = fleet;
    proxy.hosts = { [`${loginHost}:80`]: new URL(simulator.loginUrl).port };
    const way = await startFaultProxy(proxy.url);
    const through = (url: string) => ({ environment: `egress: { proxy: "${url}" }` });
    const cutOff = await fleet.add(through(way.url));
    const sound = await Promise.all(Array.from({ length: replicas - 1 }, () => fleet.add(through(proxy.url))));
    expect(await tokensInUse(fleet)).toEqual(Array(replicas).fill("token_1"));
    cut(way);
    for (const revocation of [1, 2]) {
      await pass(spacingMs);
      simulator.revokeAllTokens();
      // This replica is the first that needs a token, so it gets the lock.
      const lost = cutOff.order();
      const { statuses, tookMs } = await burst(sound, callersEach);
      print(`sound replicas after revocation ${revocation}`, { tookMs });
      expect(statuses).toEqual({ 200: sound.length * callersEach });
      // Less than the time for a connection (`timeouts.connect`).
      expect(tookMs).toBeLessThan(2_000);
      expect(simulator.counts().tokensIssued).toBe(1 + revocation);
      // The replica uses the token of the others.
      await lost;
      await vi.waitFor(async () => expect((await cutOff.order()).status).toBe(200), { timeout: 20_000 });
    }
  });
});

const tokenLifetimeSeconds = 4;
const outageMs = 3.5 * tokenLifetimeSeconds * 1_000;
const sites = simulatedSites.filter(({ identifier }) => identifier === bothSite);
const set = `{ name: both, clientId: both-id, clientSecret: { file: DIR/both }, audience: "${audience}" }`;
const key = "{ identifier: K2000000005, secret: { file: DIR/k1 } }";
const moreSites = `${bothSite}: { auth: [oauth, hmac], bridge: hmac, credentials: [ ${set} ], keys: [ ${key} ] }`;

it("in an outage of several token lifetimes all orders are signed, none waits long, and one token serves all afterwards", async () => {
  const files = { both: canaries.both };
  await playFleet({ replicas, moreSites, files, simulator: { sites, tokenLifetimeSeconds } }, async (fleet) => {
    const { simulator } = fleet;
    const orders = fleet.replicas.map((replica) => ({ order: () => replica.order({ "countersign-site": bothSite }) }));
    const load = startLoad(orders, 40);
    await load.during(1_000);
    await simulator.stopLogin();
    await load.during(outageMs);
    const signed = simulator.seen.apiRequests.slice(-40);
    expect(signed.map(({ auth, refusal }) => [auth, refusal])).toEqual(signed.map(() => ["hmac", undefined]));
    const { tokensIssued } = simulator.counts();
    await simulator.startLogin();
    const isServed = () => simulator.seen.apiRequests.slice(-8).every(({ token }) => token !== undefined);
    while (!isServed()) await load.during(100);
    expect(simulator.counts().tokensIssued).toBe(tokensIssued + 1);
    const { sent, failures, slowestMs } = await load.stop();
    const all = await fleet.sum("countersign_bridged_total");
    print("orders through an outage", { sent, signed: all, slowestMs });
    expect(failures).toEqual([]);
    expect(all).toBeGreaterThan(0.5 * (outageMs / 1_000) * 40);
    expect(slowestMs).toBeLessThan(3_000);
    const { accepted, apiRequests } = simulator.counts();
    expect(accepted).toBe(apiRequests);
    expect(apiRequests).toBe(sent);
  });
});
