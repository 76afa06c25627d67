/**
 * Without Redis and authorization server a process starts, says 503 in time, and recovers by itself; if only
 * the authorization server is missing, it uses the shared token until the leeway before its expiry.
 */
import { expect, it, vi } from "vitest";
import { Secret } from "../../../src/model/secret.ts";
import { cacheKey } from "../../../src/oauth/token.ts";
import { canaries, tokenKey } from "../../../testkit/config-folder.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { startFaultProxy } from "../../../testkit/fault-proxy.ts";
import { type Fleet, type FleetOptions, type Replica, site, startFleet } from "../../../testkit/fleet.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { issued } from "../../../testkit/issued-token.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt, openReplica } from "../../../testkit/redis-replica.ts";
import { audience } from "../../../testkit/simulated-sites.ts";
import { print } from "./load.ts";

/** Ten times what is promised; node itself takes half a second to start. */
const upMs = 10_000;
/** Less than `timeouts.token`: no order waited for that time. */
const refusedMs = 4_000;
const vanishedMs = 5_000;
const slackMs = 2_000;
/** The longest back-off, and some tolerance. */
const recoveryMs = 32_000;

const unavailable = { status: 503, code: "token_unavailable", detail: /^No token for credential "blue"/ } as const;

it("while both refuse connections, a process is up, says 503 at once, and serves once the authorization server is back", async () => {
  const redis = `{ url: "redis://127.0.0.1:${await freePort()}" }`;
  const { simulator, replica, startMs } = await startAlone({ redis }, ({ simulator }) => simulator.stopLogin());
  const first = await orderInVain(replica, refusedMs);
  let last = first;
  for (let n = 0; n < 20; n++) last = await orderInVain(replica, refusedMs);
  expect(simulator.counts()).toMatchObject({ tokenRequests: 0, apiRequests: 0 });
  await simulator.startLogin();
  const { recoveredMs, inVain } = await orderUntilServed(replica);
  // A caller that obeys Retry-After is served.
  expect(recoveredMs).toBeLessThan(last.retryAfterMs + slackMs);
  expect(simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 1, apiRequests: 1 });
  expect(replica.events("redis_down")).toHaveLength(1);
  const metrics = await replica.metrics();
  expect(metrics.value("countersign_redis_up", { node: "cache" })).toBe(0);
  expect(metrics.sum("countersign_failures_total", { site, code: "token_unavailable" })).toBe(21 + inVain);
  print("refused", { startMs, firstAnswerMs: first.tookMs, lastAnswerMs: last.tookMs, recoveredMs });
});

it("while both accept connections and never answer, a process is up, says 503 within timeouts.token, and recovers", async () => {
  const loginPort = await freePort();
  const login = await startFaultProxy(`http://127.0.0.1:${loginPort}`);
  // Any server that accepts connections.
  const redis = await startFaultProxy(`http://127.0.0.1:${loginPort}`);
  for (const { toTarget } of [redis, login]) toTarget.become({ blackHole: true });
  const { simulator, replica, startMs } = await startAlone({
    redis: `{ url: "redis://127.0.0.1:${redis.port}" }`,
    authUrl: login.url,
    simulator: { loginPort },
  });
  const first = await orderInVain(replica, vanishedMs + slackMs);
  expect(simulator.counts()).toMatchObject({ tokenRequests: 0, apiRequests: 0 });
  login.lose();
  login.heal();
  const { recoveredMs } = await orderUntilServed(replica);
  expect(simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 1, apiRequests: 1 });
  expect(redis.connections).toBeGreaterThan(0);
  print("swallowed", { startMs, firstAnswerMs: first.tookMs, recoveredMs });
});

const hourMs = 3_600_000;
const lifetimeMs = 24 * hourMs;

/** Puts a token into Redis, as another replica that got it would. */
async function shareToken({ simulator }: Fleet, redis: RealRedis, remainingMs: number): Promise<void> {
  const set = { label: `${site}/blue`, name: "blue", clientId: "blue-id", audience };
  const key = cacheKey(`${simulator.loginUrl}/oauth/token`, { ...set, clientSecret: new Secret(canaries.blue) });
  const encryptionKeys = [new Secret(Buffer.from(tokenKey, "hex"))] as const;
  const { store } = openReplica(accessTo(nodeAt(redis.port), { encryptionKeys }));
  const planted = issued(simulator.plantToken("blue-id"), lifetimeMs);
  if (remainingMs > 0) await store.save(key, planted, lifetimeMs - remainingMs);
}

/** Starts a replica while no tokens are issued. */
async function startWith(remainingMs: number) {
  const redis = await startRedis();
  const fleet = await startFleet({ redis, replicas: 0, more: "readiness: token" });
  await fleet.simulator.stopLogin();
  await shareToken(fleet, redis, remainingMs);
  const replica = await fleet.add();
  const readiness = async () => (await fetch(`${replica.adminUrl}/readyz`)).status;
  return { fleet, replica, readiness };
}

it.each([
  ["fresh", 23 * hourMs],
  ["due", 0.11 * lifetimeMs],
  ["in its last tenth", 2.15 * hourMs],
  // The leeway is 120 s at most.
  ["three minutes before its end", 180_000],
])("a shared token that is %s is adopted, serves, and is refreshed once that is possible", async (_, remainingMs) => {
  const { fleet, replica, readiness } = await startWith(remainingMs);
  await vi.waitFor(async () => expect(await readiness()).toBe(200), { timeout: 20_000, interval: 50 });
  expect(await replica.order()).toMatchObject({ status: 200 });
  expect(fleet.simulator.counts().tokensIssued).toBe(0);
  await fleet.simulator.startLogin();
  if (remainingMs >= 0.2 * lifetimeMs) return;
  const isRefreshed = async () => {
    expect(await replica.order()).toMatchObject({ status: 200 });
    expect(fleet.simulator.counts().tokensIssued).toBe(1);
  };
  await vi.waitFor(isRefreshed, { timeout: 40_000, interval: 100 });
});

it.each([
  ["within its leeway", 50_000],
  ["expired", 0],
])("a shared token that is %s is not used: a clear 503", async (_, remainingMs) => {
  const { fleet, replica, readiness } = await startWith(remainingMs);
  const detail = /no connection to the authorization server: connections are refused/;
  expectFailure(await replica.order(), { status: 503, code: "token_unavailable", detail });
  expect(await readiness()).toBe(503);
  expect(fleet.simulator.counts().apiRequests).toBe(0);
});

/** One process that starts while everything else is down, except the simulator's API. */
async function startAlone(options: FleetOptions, prepare: (fleet: Fleet) => Promise<void> = async () => {}) {
  const fleet = await startFleet({ ...options, replicas: 0 });
  await prepare(fleet);
  const sinceMs = performance.now();
  const replica = await fleet.add();
  const tookMs = performance.now() - sinceMs;
  expect(tookMs).toBeLessThan(upMs);
  return { ...fleet, replica, startMs: tookMs };
}

/** An order that gets 503; returns how long it took, and its Retry-After. */
async function orderInVain(replica: Replica, longestMs: number) {
  const sinceMs = performance.now();
  const answer = await replica.order();
  const tookMs = performance.now() - sinceMs;
  expectFailure(answer, unavailable);
  expect(tookMs).toBeLessThan(longestMs);
  return { tookMs, retryAfterMs: Number(answer.headers["retry-after"]) * 1_000 };
}

/** Orders until one is served; all before it must get a proper 503. */
async function orderUntilServed(replica: Replica) {
  const sinceMs = performance.now();
  for (let inVain = 0; ; inVain++) {
    const answer = await replica.order();
    const tookMs = performance.now() - sinceMs;
    if (answer.status === 200) return { recoveredMs: tookMs, inVain };
    expectFailure(answer, unavailable);
    expect(tookMs).toBeLessThan(recoveryMs);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
