/**
 * A pod whose clock is ten minutes wrong changes nothing for the others: lifetimes are measured by Redis's clock. If pods
 * have different tokens, and all are revoked, each pod loses at most one request, and one new token serves all.
 */
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { type Stage, stage } from "../../../testkit/stage.ts";

/** Random numbers with which a token is due after 80 % or 88 % of its lifetime. */
const early = () => 0;
const late = () => 0.999;

const right = 0;
const fast = 600_000;
const slow = -fast;

it.each([
  ["fast", fast, [slow, right]],
  ["slow", slow, [fast, right]],
  ["right", right, [fast, slow]],
])(
  "clocks ten minutes apart, the first pod's %s: one token request a lifetime, and the newest token wins",
  async (_, firstMs, othersMs) => {
    const lifetimeMs = 6_000;
    const pods = await stagePods(lifetimeMs, firstMs, ...othersMs);
    const { simulator, recorder } = pods.first;
    for (let n = 0; n < 10; n++) expect(await orderThroughAll(pods)).toEqual(Array(3).fill("token_1"));
    expect(simulator.counts().tokenRequests).toBe(1);
    for (const { recorder } of [pods.first, ...pods.others]) {
      const [adopted] = recorder.of("token_adopted");
      expect(adopted?.lifetimeMs).toBe(lifetimeMs);
      // If a wall clock were used, the remaining time would be wrong by ten minutes.
      expect(adopted?.remainingMs).toBeGreaterThan(lifetimeMs / 2);
      expect(adopted?.remainingMs).toBeLessThanOrEqual(lifetimeMs);
    }
    await recorder.nth("token_adopted", 2);
    for (const { recorder } of pods.others) await recorder.nth("token_adopted", 2);
    expect(await orderThroughAll(pods)).toEqual(Array(3).fill("token_2"));
    expect(simulator.counts()).toMatchObject({ tokenRequests: 2, tokensIssued: 2, unauthorized: 0 });
    const issuers = [pods.first, ...pods.others].map(({ recorder }) => recorder.count("token_requested"));
    expect(issuers).toEqual([2, 0, 0]);
  },
);

it("tokens that differ and are all revoked: each replica passes on one 401 at the most, and one token serves both", async () => {
  // The token is due after 12.8 s in one replica, after 14 s in the other.
  const { first, others } = await stagePods(16_000, right, right);
  const [second = expect.unreachable()] = others;
  const { simulator } = first;
  const lastToken = () => simulator.seen.apiRequests.at(-1)?.token;
  for (const { url } of [first, second]) expect((await call(url)).status).toBe(200);
  await first.recorder.nth("token_adopted", 2);
  expect((await call(first.url)).status).toBe(200);
  expect(lastToken()).toBe("token_2");
  expect((await call(second.url)).status).toBe(200);
  expect(lastToken()).toBe("token_1");

  simulator.revokeAllTokens();
  await call(second.url);
  for (const { url } of [second, first]) {
    expect((await call(url)).status).toBe(200);
    expect(lastToken()).toBe("token_3");
  }
  expect(simulator.counts().tokenRequests).toBe(3);
});

interface Pods {
  /** The pod whose token is due first, so it refreshes. */
  readonly first: Stage;
  readonly others: readonly Stage[];
}

/** As many proxies as clock offsets, over one Redis and one simulator, each with its own wall clock. */
async function stagePods(lifetimeMs: number, firstMs: number, ...othersMs: readonly number[]): Promise<Pods> {
  const { port } = await startRedis();
  const open = (wallOffsetMs: number, random: () => number, shared?: Stage) => {
    const clock = new ShiftedClock();
    clock.jumpWall(wallOffsetMs);
    return stage("replica", port, {}, shared, {
      surroundings: { clock, random },
      // Another test proves timestamps.
      simulator: { tokenLifetimeSeconds: lifetimeMs / 1_000, timestampToleranceSeconds: 3_600 },
    });
  };
  const first = await open(firstMs, early);
  const others: Stage[] = [];
  for (const wallMs of othersMs) others.push(await open(wallMs, late, first));
  return { first, others };
}

/** Sends an order through each pod, and returns the tokens that the service saw. */
async function orderThroughAll({ first, others }: Pods): Promise<readonly (string | undefined)[]> {
  const tokens: (string | undefined)[] = [];
  for (const { url } of [first, ...others]) {
    expect((await call(url)).status).toBe(200);
    tokens.push(first.simulator.seen.apiRequests.at(-1)?.token);
  }
  return tokens;
}
