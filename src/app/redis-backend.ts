import { createRedisClaimRecords } from "../adapters/redis/claim-records.ts";
import { createCacheClient, createNodeClient } from "../adapters/redis/client.ts";
import { RedisConnection } from "../adapters/redis/connection.ts";
import { createRedisRefreshLock } from "../adapters/redis/refresh-lock.ts";
import { createRedisTokenStore } from "../adapters/redis/token-store.ts";
import { Claims } from "../claims/claim.ts";
import type { Report } from "../model/events.ts";
import { lockNodeName, type RedisAccess } from "../model/redis-access.ts";
import type { Dependencies } from "./dependencies.ts";

/** The tokens, lock and claims that replicas share in Redis. A module of its own, so that it is loaded only if Redis is used. */
export function openRedisBackend(access: RedisAccess, report: Report, { clock, random }: Dependencies) {
  const connect = (client: ReturnType<typeof createCacheClient>, node: string) =>
    new RedisConnection({ client, node, clock, random, report });
  const cache = connect(createCacheClient(access), "cache");
  const others = access.lockNodes.map((node, index) => connect(createNodeClient(node, access), lockNodeName(index)));
  const lock = createRedisRefreshLock(cache, others, clock);
  const claims = new Claims(createRedisClaimRecords(cache), clock);
  return {
    store: createRedisTokenStore({ connection: cache, keys: access.encryptionKeys, clock, report }),
    lock,
    claims,
    snapshot: () => [cache, ...others].map((connection) => connection.snapshot()),
    async close() {
      claims.close();
      await lock.close();
      for (const connection of [cache, ...others]) connection.close();
    },
  };
}
