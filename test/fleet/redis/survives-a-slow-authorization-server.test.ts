/** Rows 31, 40 over four replicas: an authorization server that is slow or never answers gets one token request. */
import { expect, it, vi } from "vitest";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import type { Fleet } from "../../../testkit/fleet.ts";
import { heldLock, lastTokens, playFleet, tokensInUse, whenTried } from "./fleet-over-redis.ts";
import { burst, print } from "./load.ts";

const replicas = 4;
const callersEach = 10;
/** The lock is given for 1.5 s at a time. */
const slowMs = 4_000;
/** `timeouts.token`, which one token request takes at most. */
const longestWaitMs = 5_000;
const slackMs = 2_000;
const patience = { timeout: 20_000, interval: 50 };
const timedOut = { result: "timed_out" };

const startAll = (fleet: Fleet) => Promise.all(Array.from({ length: replicas }, () => fleet.add()));

/** Callers at all replicas wait for `timeouts.token`, no longer, and are told that nothing was sent. */
async function orderInVain(fleet: Fleet): Promise<void> {
  const { answers, tookMs } = await burst(fleet.replicas, callersEach);
  for (const answer of answers) {
    expectFailure(answer, {
      status: 503,
      code: "token_unavailable",
      // An attempt takes as long as its callers wait: it ends before or behind them.
      detail: /the authorization server (issued none in time|could not be reached, or gave no complete answer)/,
    });
  }
  expect(tookMs).toBeGreaterThan(longestWaitMs - 50);
  expect(tookMs).toBeLessThan(longestWaitMs + slackMs);
}

it("an authorization server that takes 4 s gets one request, and its token is everybody's", async () => {
  await playFleet({ replicas: 0 }, async (fleet, redis) => {
    const { simulator } = fleet;
    const hang = simulator.faults.add({ host: "login", kind: "hang" });
    const started = startAll(fleet);
    await simulator.seen.whenTokenRequests(1);
    const sinceMs = performance.now();
    const lock = await heldLock(redis);
    await whenTried(await started);
    await new Promise((resolve) => setTimeout(resolve, slowMs - (performance.now() - sinceMs)));
    expect(lock).toBeDefined();
    expect(await heldLock(redis)).toBe(lock);
    hang.release();
    expect(await tokensInUse(fleet)).toEqual(Array(replicas).fill("token_1"));
    expect(simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 1, unauthorized: 0 });
  });
});

it("no request waits for a slow authorization server while the token is due", async () => {
  await playFleet({ replicas }, async (fleet) => {
    const { simulator } = fleet;
    simulator.setTokenLifetimeSeconds(12);
    simulator.revokeAllTokens();
    expect(await tokensInUse(fleet)).toEqual(Array(replicas).fill("token_2"));
    simulator.faults.add({ host: "login", kind: "delay", delayMs: slowMs });
    const requests = await simulator.seen.whenTokenRequests(3);
    const { statuses } = await burst(fleet.replicas, callersEach);
    // All of them have their answers, and the authorization server has still to give its own.
    expect(requests.at(-1)?.answer).toBeUndefined();
    expect(statuses).toEqual({ 200: replicas * callersEach });
    expect(lastTokens(fleet, replicas * callersEach)).toEqual(["token_2"]);
    expect(simulator.counts().tokenRequests).toBe(3);
  });
});

it("a token request that is never answered is given up after 5 s, and so is the next; then callers are served", async () => {
  await playFleet({ replicas: 0 }, async (fleet) => {
    const { simulator } = fleet;
    simulator.faults.add({ host: "login", kind: "hang", times: 2 });
    const all = await startAll(fleet);
    await whenTried(all);
    await orderInVain(fleet);
    const end = await Promise.race(all.map((replica) => replica.event("token_requested")));
    expect(end).toMatchObject({ result: "timed_out" });
    expect(end.durationMs).toBeGreaterThanOrEqual(longestWaitMs);
    expect(end.durationMs).toBeLessThan(longestWaitMs + slackMs);
    await vi.waitFor(
      async () => expect(await fleet.sum("countersign_token_requests_total", timedOut)).toBe(2),
      patience,
    );
    const endedMs = performance.now();
    // A caller that meets the back-off after it is told to come again.
    for (const replica of all) {
      while ((await replica.order()).status !== 200) expect(performance.now() - endedMs).toBeLessThan(longestWaitMs);
    }
    print("all replicas serve after the deadline, in ms", { after: performance.now() - endedMs });
    expect(simulator.counts()).toMatchObject({ tokenRequests: 3, tokensIssued: 3, unauthorized: 0 });
  });
});
