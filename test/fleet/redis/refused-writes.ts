import { aclUser } from "../../../testkit/acl.ts";
import type { RealRedis } from "../../../testkit/redis.ts";

type Change = (redis: RealRedis) => Promise<unknown>;

/** States in which Redis answers, and takes no writes: how it comes into each, and out of it. */
export const states: readonly [State, ...State[]] = [
  [
    "NOREPLICAS",
    (redis) => redis.config("min-replicas-to-write", "1"),
    (redis) => redis.config("min-replicas-to-write", "0"),
  ],
  ["OOM", (redis) => redis.config("maxmemory", "1"), (redis) => redis.config("maxmemory", "0")],
  [
    "READONLY",
    (redis) => redis.command("REPLICAOF", "127.0.0.1", "1"),
    (redis) => redis.command("REPLICAOF", "NO", "ONE"),
  ],
  [
    "NOPERM",
    (redis) => redis.command("ACL", "SETUSER", aclUser.username, "-set"),
    (redis) => redis.command("ACL", "SETUSER", aclUser.username, "+set"),
  ],
];

type State = readonly [name: string, refuse: Change, accept: Change];
