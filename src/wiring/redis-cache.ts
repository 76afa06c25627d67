import { createCacheClient, createNodeClient } from "../adapters/redis/client.ts";
import { RedisConnection } from "../adapters/redis/connection.ts";
import { createRedisRefreshLock } from "../adapters/redis/refresh-lock.ts";
import { createRedisTokenStore } from "../adapters/redis/token-store.ts";
import type { Report } from "../events.ts";
import type { RedisAccess } from "../redis-access.ts";
import { CacheVoice } from "./cache-voice.ts";
import type { Surroundings } from "./surroundings.ts";
import type { TokenCache } from "./token-cache.ts";

/** What replicas share in Redis. */
export function openRedisCache(access: RedisAccess, report: Report, { clock, random }: Surroundings): TokenCache {
  const voice = new CacheVoice(report);
  const connect = (client: ReturnType<typeof createCacheClient>, node: string) =>
    new RedisConnection({ client, node, clock, random, report: voice.say });
  const cache = connect(createCacheClient(access), "cache");
  const others = access.lockNodes.map((node, index) => connect(createNodeClient(node, access), `lock-${index + 2}`));
  const lock = createRedisRefreshLock([cache, ...others], clock);
  return {
    store: createRedisTokenStore({ connection: cache, keys: access.encryptionKeys, clock, report }),
    lock,
    onReturn: (listener) => cache.onReturn(listener),
    raiseVoice: () => voice.raise(),
    hushVoice: () => voice.hush(),
    async close() {
      await lock.close();
      for (const connection of [cache, ...others]) connection.close();
    },
  };
}
