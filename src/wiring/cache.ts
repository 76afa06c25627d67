import { createMemoryRefreshLock } from "../adapters/memory/refresh-lock.ts";
import { createMemoryTokenStore } from "../adapters/memory/token-store.ts";
import { createCacheClient, createNodeClient } from "../adapters/redis/client.ts";
import { RedisConnection } from "../adapters/redis/connection.ts";
import { createRedisRefreshLock } from "../adapters/redis/refresh-lock.ts";
import { createRedisTokenStore } from "../adapters/redis/token-store.ts";
import type { Config } from "../config/config.ts";
import type { Report } from "../events.ts";
import type { RedisAccess } from "../redis-access.ts";
import type { RefreshLock } from "../tokens/lock.ts";
import type { TokenStore } from "../tokens/store.ts";
import type { Surroundings } from "./surroundings.ts";

/** What replicas share, or what one process keeps for itself. */
export interface Cache {
  readonly store: TokenStore;
  readonly lock: RefreshLock;
  /** Calls the listener whenever the store is back after it was away. */
  onReturn(listener: () => void): void;
  close(): Promise<void>;
}

export function openCache({ tokens }: Config, report: Report, surroundings: Surroundings): Cache {
  if (tokens.cache === "redis") return openRedis(tokens.redis, report, surroundings);
  const store = createMemoryTokenStore(surroundings.clock);
  return { store, lock: createMemoryRefreshLock(), onReturn() {}, async close() {} };
}

/** The Redis servers in use, as events and metrics name them: `cache`, and `lock-2`, … for further masters of the lock. */
export function redisNodes({ tokens }: Config): readonly string[] {
  return tokens.cache === "redis" ? ["cache", ...tokens.redis.lockNodes.map((_, index) => `lock-${index + 2}`)] : [];
}

function openRedis(access: RedisAccess, report: Report, { clock, random }: Surroundings): Cache {
  const connect = (client: ReturnType<typeof createCacheClient>, node: string) =>
    new RedisConnection({ client, node, clock, random, report });
  const cache = connect(createCacheClient(access), "cache");
  const others = access.lockNodes.map((node, index) => connect(createNodeClient(node, access), `lock-${index + 2}`));
  const lock = createRedisRefreshLock([cache, ...others], clock);
  return {
    store: createRedisTokenStore({ connection: cache, keys: access.encryptionKeys, clock, report }),
    lock,
    onReturn: (listener) => cache.onReturn(listener),
    async close() {
      await lock.close();
      for (const connection of [cache, ...others]) connection.close();
    },
  };
}
