/** Row 30: without Redis and authorization server a process starts, says 503 in time, and recovers by itself. */
import { describe, expect, it } from "vitest";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { startFaultProxy } from "../../../testkit/fault-proxy.ts";
import { type Fleet, type FleetOptions, type Replica, site, startFleet } from "../../../testkit/fleet.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { print } from "./load.ts";
import { startVanishingPort } from "./vanishing-port.ts";

/** Ten times what is promised; node itself takes half a second to start. */
const upMs = 10_000;
/** Below `timeouts.token`: nobody waited for it. */
const refusedMs = 4_000;
const vanishedMs = 5_000;
const slackMs = 2_000;
/** The longest back-off, and what comes on top. */
const recoveryMs = 32_000;

const unavailable = { status: 503, code: "token_unavailable", detail: /^No token for credential "blue"/ } as const;

/** One process that starts where nothing else is up; the simulator's own API is. */
async function startAlone(options: FleetOptions, prepare: (fleet: Fleet) => Promise<void> = async () => {}) {
  const fleet = await startFleet({ ...options, replicas: 0 });
  await prepare(fleet);
  const sinceMs = performance.now();
  const replica = await fleet.add();
  const tookMs = performance.now() - sinceMs;
  expect(tookMs).toBeLessThan(upMs);
  return { ...fleet, replica, startMs: tookMs };
}

/** An order in vain; says how long it took, and when to come again. */
async function orderInVain(replica: Replica, longestMs: number) {
  const sinceMs = performance.now();
  const answer = await replica.order();
  const tookMs = performance.now() - sinceMs;
  expectFailure(answer, unavailable);
  expect(tookMs).toBeLessThan(longestMs);
  return { tookMs, retryAfterMs: Number(answer.headers["retry-after"]) * 1_000 };
}

/** Orders until one is served; each in vain is a proper 503. */
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

describe("a process that starts while Redis and the authorization server refuse connections", () => {
  it("is up, says 503 at once, and serves once the authorization server is back, Redis or not", async () => {
    const redis = `{ url: "redis://127.0.0.1:${await freePort()}" }`;
    const { simulator, replica, startMs } = await startAlone({ redis }, ({ simulator }) => simulator.stopLogin());
    const first = await orderInVain(replica, refusedMs);
    let last = first;
    for (let n = 0; n < 20; n++) last = await orderInVain(replica, refusedMs);
    expect(simulator.counts()).toMatchObject({ tokenRequests: 0, apiRequests: 0 });
    await simulator.startLogin();
    const { recoveredMs, inVain } = await orderUntilServed(replica);
    // Whoever follows Retry-After is served.
    expect(recoveredMs).toBeLessThan(last.retryAfterMs + slackMs);
    expect(simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 1, apiRequests: 1 });
    expect(replica.events("redis_down")).toHaveLength(1);
    const metrics = await replica.metrics();
    expect(metrics.value("countersign_redis_up", { node: "cache" })).toBe(0);
    expect(metrics.sum("countersign_failures_total", { site, code: "token_unavailable" })).toBe(21 + inVain);
    print("refused", { startMs, firstAnswerMs: first.tookMs, lastAnswerMs: last.tookMs, recoveredMs });
  });
});

describe("a process that starts while everything vanishes", () => {
  it("is up, and says 503 within timeouts.token, where not even connections are made", async () => {
    const port = await startVanishingPort();
    const { simulator, replica, startMs } = await startAlone({
      redis: `{ url: "redis://127.0.0.1:${port}" }`,
      authUrl: `http://127.0.0.1:${port}`,
    });
    const [first, second] = await Promise.all([
      orderInVain(replica, vanishedMs + slackMs),
      orderInVain(replica, vanishedMs + slackMs),
    ]);
    expect(simulator.counts()).toMatchObject({ tokenRequests: 0, apiRequests: 0 });
    print("vanished", { startMs, firstAnswerMs: first.tookMs, secondAnswerMs: second.tookMs });
  });

  it("is up, says 503 within timeouts.token, and recovers, where connections are accepted and never answered", async () => {
    const loginPort = await freePort();
    const login = await startFaultProxy(`http://127.0.0.1:${loginPort}`);
    // Whatever accepts connections.
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
});
