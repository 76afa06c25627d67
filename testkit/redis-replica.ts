import { Redis } from "ioredis";
import { inject, onTestFinished } from "vitest";
import { createRedisClaimRecords } from "../src/adapters/redis/claim-records.ts";
import { createCacheClient, createNodeClient, type RedisClient } from "../src/adapters/redis/client.ts";
import { RedisConnection } from "../src/adapters/redis/connection.ts";
import { createRedisRefreshLock } from "../src/adapters/redis/refresh-lock.ts";
import { lockTrialScript, trialScript } from "../src/adapters/redis/scripts.ts";
import { createRedisTokenStore } from "../src/adapters/redis/token-store.ts";
import { Claims } from "../src/claims/claim.ts";
import { type Clock, systemClock } from "../src/model/clock.ts";
import { describeRedisPlace, lockNodeName, type RedisAccess, type RedisNode } from "../src/model/redis-access.ts";
import { Secret } from "../src/model/secret.ts";
import { aclUser } from "./acl.ts";
import { EventRecorder } from "./event-recorder.ts";
import { expectDeclared } from "./redis.ts";

/** An encryption key of 32 bytes for tests. */
export const sealKey = (byte = 7) => new Secret(Buffer.alloc(32, byte));

export function nodeAt(port: number, more: Partial<Extract<RedisNode, { kind: "tcp" }>> = {}): RedisNode {
  return { kind: "tcp", host: "127.0.0.1", port, tls: false, db: 0, ...more };
}

/** Access as the user with the fewest privileges. */
export function accessTo(node: RedisNode, more: Partial<RedisAccess> = {}): RedisAccess {
  const user = { username: aclUser.username, password: new Secret(aclUser.password), tls: undefined };
  return {
    place: { kind: "standalone", node },
    lockNodes: [],
    confirmsOnce: false,
    ...user,
    encryptionKeys: [sealKey()],
    ...more,
  };
}

/**
 * The run's common Redis: a given address, a container or a process. Others may use it too, so a test needs its own keys.
 * @throws Error that says how to provide a Redis
 */
export function commonRedis(): RedisAccess {
  expectDeclared();
  const redis = inject("redis");
  if ("why" in redis) throw new Error(redis.why);
  const { hostname, port, username, password, pathname, protocol } = new URL(redis.url);
  const node = nodeAt(Number(port || 6379), {
    host: hostname,
    tls: protocol === "rediss:",
    db: Number(pathname.slice(1) || 0),
  });
  return accessTo(node, {
    username: username === "" ? undefined : decodeURIComponent(username),
    password: password === "" ? undefined : new Secret(decodeURIComponent(password)),
  });
}

const mostPatienceMs = 5_000;

/** For tests that do not check speed: on a machine that stalls for a moment, no read becomes a miss. A Redis that was missed is tried again soon. */
export const patientClock: Clock = {
  ...systemClock,
  after: (delayMs, task) => systemClock.after(Math.max(delayMs, Math.min(delayMs * 20, mostPatienceMs)), task),
};

/** One process's stores and lock, with their own connections; ends with the test. */
export function openReplica(at: { readonly port: number } | RedisAccess, clock: Clock = systemClock) {
  const access = "port" in at ? accessTo(nodeAt(at.port)) : at;
  const recorder = new EventRecorder();
  const { report } = recorder;
  const connect = (openClient: (turn: number) => RedisClient, trial: string, node: string) => {
    const open = (turn: number) => {
      const client = openClient(turn);
      // The client's own limit for every command, 500 ms, is meant for hanging greetings.
      if (clock === patientClock && client instanceof Redis) delete client.options.commandTimeout;
      return client;
    };
    const shared = { clock, random: Math.random, report, address: describeRedisPlace(access.place) };
    const connection = new RedisConnection({ open, trial, node, ...shared });
    onTestFinished(() => connection.close());
    return connection;
  };
  const cache = connect((turn) => createCacheClient(access, turn), trialScript, "cache");
  const others = access.lockNodes.map((node, index) =>
    connect(() => createNodeClient(node, access), lockTrialScript, lockNodeName(index)),
  );
  const claims = new Claims(createRedisClaimRecords(cache, clock), clock);
  onTestFinished(() => claims.close());
  return {
    recorder,
    connection: cache,
    store: createRedisTokenStore({ connection: cache, keys: access.encryptionKeys, clock, report }),
    claims,
    lock: createRedisRefreshLock(cache, others, clock),
  };
}
