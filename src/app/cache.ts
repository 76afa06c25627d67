import { createMemoryRefreshLock } from "../adapters/memory/refresh-lock.ts";
import { createMemoryTokenStore } from "../adapters/memory/token-store.ts";
import type { Config } from "../config/config.ts";
import type { Report } from "../model/events.ts";
import { Announcements } from "./announcements.ts";
import type { Dependencies } from "./dependencies.ts";
import type { TokenBackend } from "./token-backend.ts";

export async function openCache({ tokens }: Config, report: Report, surroundings: Dependencies): Promise<TokenBackend> {
  if (tokens.cache === "redis") {
    // Whoever has no Redis starts without its packages.
    const { openRedisCache } = await import("./redis-cache.ts");
    return openRedisCache(tokens.redis, report, surroundings);
  }
  const store = createMemoryTokenStore(surroundings.clock);
  const announcements = new Announcements(report, () => undefined);
  return { store, lock: createMemoryRefreshLock(), announcements, onReturn() {}, snapshot: () => [], async close() {} };
}

/** The Redis servers in use, as events and metrics name them: `cache`, and `lock-2`, … for further masters of the lock. */
export function redisNodes({ tokens }: Config): readonly string[] {
  return tokens.cache === "redis" ? ["cache", ...tokens.redis.lockNodes.map((_, index) => `lock-${index + 2}`)] : [];
}
