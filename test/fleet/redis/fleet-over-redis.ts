import { expect, vi } from "vitest";
import { type Fleet, type FleetOptions, type Replica, startFleet } from "../../../testkit/fleet.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { undisturbed } from "../../../testkit/undisturbed.ts";

/** Plays with a fleet over a Redis of its own, once more where a busy machine disturbed it. */
export async function playFleet(
  options: Omit<FleetOptions, "redis">,
  play: (fleet: Fleet, redis: RealRedis) => Promise<void>,
): Promise<void> {
  let redis: RealRedis | undefined;
  const stage = async () => {
    redis = await startRedis();
    return startFleet({ ...options, redis: `{ url: "${redis.url}" }` });
  };
  await undisturbed(stage, async (fleet) => {
    if (redis === undefined) throw new Error("no Redis");
    await play(fleet, redis);
  });
}

/** The value of the one refresh lock in Redis, which tells its holder from any other; undefined while nobody has it. */
export async function heldLock(redis: RealRedis): Promise<string | undefined> {
  const names = await redis.command("KEYS", "countersign:*:lock");
  const [name] = Array.isArray(names) ? names.map(String) : [];
  const value = name === undefined ? null : await redis.command("GET", name);
  return value === null ? undefined : String(value);
}

/** Resolves when each of the replicas has tried for the lock; with this result, if one is named. */
export async function whenTried(replicas: readonly Replica[], result?: "held"): Promise<void> {
  const labels = result === undefined ? undefined : { result };
  for (const replica of replicas) {
    const tries = async () => (await replica.metrics()).sum("countersign_refresh_lock_total", labels);
    await vi.waitFor(async () => expect(await tries()).toBeGreaterThan(0), { timeout: 15_000, interval: 20 });
  }
}

/** The next request to the service gets a 401, whatever token it carries. */
export function refuseNext({ simulator }: Fleet): void {
  simulator.faults.add({ host: "api", kind: "answer", status: 401, body: "refused once" });
}

/** The tokens of the last so many requests to the service, each once. */
export function lastTokens({ simulator }: Fleet, count: number): readonly (string | undefined)[] {
  return [...new Set(simulator.seen.apiRequests.slice(-count).map(({ token }) => token))];
}

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
