import { createMemoryReplayStore } from "../adapters/memory/replay-store.ts";
import { createMemoryRefreshLock, createMemoryTokenStore } from "../adapters/memory/token-store.ts";
import type { ReplayStore } from "../callbacks/replay-store.ts";
import type { Config } from "../config/config.ts";
import type { Report } from "../model/events.ts";
import type { RedisSnapshot } from "../model/redis-access.ts";
import type { RefreshLock, TokenStore } from "../oauth/token-store.ts";
import type { OnceStore } from "../proxy/once-store.ts";
import type { Dependencies } from "./dependencies.ts";

/** Where tokens are kept, and which callbacks were delivered: in Redis, which replicas share, or in this process. */
export interface TokenBackend {
  readonly store: TokenStore;
  readonly lock: RefreshLock;
  readonly replays: ReplayStore;
  /** Undefined where one process keeps all for itself: it would forget when it ends. */
  readonly once: OnceStore | undefined;
  /** Calls the listener whenever the store is back after it was away. */
  onReturn(listener: () => void): void;
  /** Its servers at this moment; none where one process keeps all for itself. */
  snapshot(): readonly RedisSnapshot[];
  close(): Promise<void>;
}

export async function openTokenBackend(
  { tokens }: Config,
  report: Report,
  dependencies: Dependencies,
): Promise<TokenBackend> {
  if (tokens.cache === "redis") {
    // Without Redis, its packages are never loaded.
    const { openRedisBackend } = await import("./redis-backend.ts");
    return openRedisBackend(tokens.redis, report, dependencies);
  }
  const store = createMemoryTokenStore(dependencies.clock);
  const replays = createMemoryReplayStore(dependencies.clock);
  const lock = createMemoryRefreshLock();
  return { store, lock, replays, once: undefined, onReturn() {}, snapshot: () => [], async close() {} };
}

/** The Redis servers in use, as events and metrics name them: `cache`, and `lock-2`, … for further masters of the lock. */
export function redisNodes({ tokens }: Config): readonly string[] {
  return tokens.cache === "redis" ? ["cache", ...tokens.redis.lockNodes.map((_, index) => `lock-${index + 2}`)] : [];
}
