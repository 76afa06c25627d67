import { expect } from "vitest";
import type { Fleet } from "../../../testkit/fleet.ts";
import type { RealRedis } from "../../../testkit/redis.ts";

/** Names of the tokens that Redis holds now. */
export async function tokensInRedis(redis: RealRedis): Promise<readonly string[]> {
  const names = await redis.command("KEYS", "countersign:*:token");
  return Array.isArray(names) ? names.map(String) : [];
}

/**
 * Waits until every replica says that Redis answers and one token is in it.
 * @returns how long that took, in ms
 */
export async function whenShared(fleet: Fleet, redis: RealRedis, longestMs: number): Promise<number> {
  const sinceMs = performance.now();
  for (;;) {
    const up = await fleet.sum("countersign_redis_up");
    const tokens = await tokensInRedis(redis);
    const tookMs = performance.now() - sinceMs;
    if (up === fleet.replicas.length && tokens.length === 1) return tookMs;
    expect(tookMs, `up: ${up}, tokens: ${tokens.length}`).toBeLessThan(longestMs);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The token that the service saw with the last request through each replica, asked one after the other. */
export async function tokensInUse({ replicas, simulator }: Fleet): Promise<readonly (string | undefined)[]> {
  const tokens: (string | undefined)[] = [];
  for (const replica of replicas) {
    const { status, text } = await replica.order();
    expect(status, text).toBe(200);
    tokens.push(simulator.seen.apiRequests.at(-1)?.token);
  }
  return tokens;
}
