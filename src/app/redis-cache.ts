import { createCacheClient, createNodeClient } from "../adapters/redis/client.ts";
import { RedisConnection } from "../adapters/redis/connection.ts";
import { createRedisRefreshLock } from "../adapters/redis/refresh-lock.ts";
import { createRedisTokenStore } from "../adapters/redis/token-store.ts";
import type { Event, Report } from "../model/events.ts";
import type { RedisAccess } from "../model/redis-access.ts";
import { Announcements } from "./announcements.ts";
import type { Dependencies } from "./dependencies.ts";
import type { TokenBackend } from "./token-backend.ts";

/** What replicas share in Redis. */
export function openRedisCache(access: RedisAccess, report: Report, { clock, random }: Dependencies): TokenBackend {
  const announcements = new Announcements(report, nodeOf);
  const connect = (client: ReturnType<typeof createCacheClient>, node: string) =>
    new RedisConnection({ client, node, clock, random, report: announcements.report });
  const cache = connect(createCacheClient(access), "cache");
  const others = access.lockNodes.map((node, index) => connect(createNodeClient(node, access), `lock-${index + 2}`));
  const lock = createRedisRefreshLock([cache, ...others], clock);
  return {
    store: createRedisTokenStore({ connection: cache, keys: access.encryptionKeys, clock, report }),
    lock,
    onReturn: (listener) => cache.onReturn(listener),
    announcements,
    snapshot: () => [cache, ...others].map((connection) => connection.snapshot()),
    async close() {
      await lock.close();
      for (const connection of [cache, ...others]) connection.close();
    },
  };
}

/** The server of which a fact says whether it is there. */
function nodeOf(event: Event): string | undefined {
  return event.kind === "redis_up" || event.kind === "redis_down" ? event.node : undefined;
}
