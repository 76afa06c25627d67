import { createRedisClaimRecords } from "../adapters/redis/claim-records.ts";
import { createCacheClient, createNodeClient } from "../adapters/redis/client.ts";
import { RedisConnection } from "../adapters/redis/connection.ts";
import { EvictionWatch } from "../adapters/redis/eviction-watch.ts";
import { createRedisRefreshLock } from "../adapters/redis/refresh-lock.ts";
import { confirmByReplica, confirmedTaskMs } from "../adapters/redis/replicas.ts";
import { lockTrialScript, trialScript } from "../adapters/redis/scripts.ts";
import { createRedisTokenStore } from "../adapters/redis/token-store.ts";
import { Claims } from "../claims/claim.ts";
import type { Report } from "../model/events.ts";
import {
  claimsNodeName,
  describeRedisNode,
  describeRedisPlace,
  lockNodeName,
  type RedisAccess,
} from "../model/redis-access.ts";
import type { Dependencies } from "./dependencies.ts";

/** The tokens, lock and claims that replicas share in Redis. A module of its own, so that it is loaded only if Redis is used. */
export function openRedisBackend(access: RedisAccess, report: Report, { clock, random }: Dependencies) {
  const shared = { clock, random, report, address: describeRedisPlace(access.place) };
  const open = (turn: number) => createCacheClient(access, turn);
  const cache = new RedisConnection({ open, trial: trialScript, node: "cache", ...shared });
  // WAIT holds a connection up, and tokens must not wait for a replica.
  const confirmed = { node: claimsNodeName, confirm: confirmByReplica, taskTimeoutMs: confirmedTaskMs };
  const own = access.confirmsOnce ? [new RedisConnection({ open, trial: trialScript, ...confirmed, ...shared })] : [];
  const others = access.lockNodes.map((at, index) => {
    const open = () => createNodeClient(at, access);
    const own = { node: lockNodeName(index), address: describeRedisNode(at) };
    return new RedisConnection({ open, trial: lockTrialScript, ...shared, ...own });
  });
  const lock = createRedisRefreshLock(cache, others, clock);
  const [forClaims] = own;
  const records = createRedisClaimRecords(forClaims ?? cache, clock, forClaims && confirmByReplica);
  const claims = new Claims(records, clock);
  const all = [cache, ...own, ...others];
  const evictions = new EvictionWatch(cache, clock, report);
  return {
    store: createRedisTokenStore({ connection: cache, keys: access.encryptionKeys, clock, report }),
    lock,
    claims,
    snapshot: () => all.map((connection) => connection.snapshot()),
    async close() {
      evictions.close();
      await Promise.all([claims.close(), lock.close()]);
      for (const connection of all) connection.close();
    },
  };
}
