import { expect, vi } from "vitest";
import type { Fleet, Replica } from "../../../testkit/fleet.ts";
import type { RealRedis } from "../../../testkit/redis.ts";

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
