import { expect, vi } from "vitest";
import { type Fleet, type FleetOptions, type Replica, startFleet } from "../../../testkit/fleet.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { countRound } from "../../../testkit/replays.ts";

const rounds = 5;

/**
 * Plays with a fleet over a Redis of its own. Promises for all replicas hold while Redis answers. On a busy machine Redis may stall
 * for longer than a command's 100 ms, and then each process rightly acts alone: a round that fails after a stall proves nothing,
 * and is played again with new processes. The result of a round without a stall always counts.
 */
export async function playFleet(
  options: Omit<FleetOptions, "redis">,
  play: (fleet: Fleet, redis: RealRedis) => Promise<void>,
): Promise<void> {
  for (let round = 1; ; round++) {
    countRound(round > 1);
    const redis = await startRedis();
    const fleet = await startFleet({ ...options, redis });
    try {
      return await play(fleet, redis);
    } catch (error) {
      const missed = await fleet.sum("countersign_redis_errors_total");
      if (missed === 0) throw error;
      if (round === rounds) throw new Error(`Redis was too slow in each of ${rounds} rounds; the last: ${error}`);
      process.stdout.write(`round ${round}: Redis was too slow ${missed} times on this busy machine; once more\n`);
      for (const replica of fleet.replicas) replica.signal("SIGKILL");
    }
  }
}

/** The value of the only refresh lock in Redis, which is different for each holder; undefined while nobody has the lock. */
export async function heldLock(redis: RealRedis): Promise<string | undefined> {
  const names = await redis.command("KEYS", "countersign:*:lock");
  const [name] = Array.isArray(names) ? names.map(String) : [];
  const value = name === undefined ? null : await redis.command("GET", name);
  return value === null ? undefined : String(value);
}

/** Resolves when each of the replicas has tried to get the lock; with this result, if one is named. */
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

/** The different tokens of the last `count` requests to the service. */
export function lastTokens({ simulator }: Fleet, count: number): readonly (string | undefined)[] {
  return [...new Set(simulator.seen.apiRequests.slice(-count).map(({ token }) => token))];
}

/** The keys of all tokens in Redis. */
export async function tokensInRedis(redis: RealRedis): Promise<readonly string[]> {
  const names = await redis.command("KEYS", "countersign:*:token");
  return Array.isArray(names) ? names.map(String) : [];
}

/**
 * Waits until every replica says that Redis answers, and Redis holds one token.
 * @returns how long that took, in ms
 */
export async function whenShared(fleet: Fleet, redis: RealRedis, longestMs: number): Promise<number> {
  const sinceMs = performance.now();
  const upAndTokens = async () => [await fleet.sum("countersign_redis_up"), (await tokensInRedis(redis)).length];
  await expect.poll(upAndTokens, { timeout: longestMs, interval: 20 }).toEqual([fleet.replicas.length, 1]);
  return performance.now() - sinceMs;
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
