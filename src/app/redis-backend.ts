import { createRedisClaimRecords } from "../adapters/redis/claim-records.ts";
import { createCacheClient, createNodeClient } from "../adapters/redis/client.ts";
import { RedisConnection } from "../adapters/redis/connection.ts";
import { createRedisRefreshLock } from "../adapters/redis/refresh-lock.ts";
import { lockTrialScript, trialScript } from "../adapters/redis/scripts.ts";
import { createRedisTokenStore } from "../adapters/redis/token-store.ts";
import { Claims } from "../claims/claim.ts";
import type { Report } from "../model/events.ts";
import { lockNodeName, type RedisAccess } from "../model/redis-access.ts";
import type { Dependencies } from "./dependencies.ts";

/** The tokens, lock and claims that replicas share in Redis. A module of its own, so that it is loaded only if Redis is used. */
export function openRedisBackend(access: RedisAccess, report: Report, { clock, random }: Dependencies) {
  const shared = { clock, random, report };
  const open = (turn: number) => createCacheClient(access, turn);
  const cache = new RedisConnection({ open, trial: trialScript, node: "cache", ...shared });
  const others = access.lockNodes.map((at, index) => {
    const open = () => createNodeClient(at, access);
    return new RedisConnection({ open, trial: lockTrialScript, node: lockNodeName(index), ...shared });
  });
  const lock = createRedisRefreshLock(cache, others, clock);
  const claims = new Claims(createRedisClaimRecords(cache, clock), clock);
  return {
    store: createRedisTokenStore({ connection: cache, keys: access.encryptionKeys, clock, report }),
    lock,
    claims,
    snapshot: () => [cache, ...others].map((connection) => connection.snapshot()),
    async close() {
      await Promise.all([claims.close(), lock.close()]);
      for (const connection of [cache, ...others]) connection.close();
    },
  };
}
