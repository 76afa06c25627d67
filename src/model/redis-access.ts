import { explainConnectFailure } from "./connect-failure.ts";
import type { Tls } from "./environment.ts";
import { describeBind } from "./listener.ts";
import type { Secret } from "./secret.ts";

/** One Redis server. */
export type RedisNode =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly tls: boolean; readonly db: number }
  | { readonly kind: "unix"; readonly path: string; readonly db: number };

export interface HostPort {
  /** IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** As it is written in the configuration, such as `rediss://cache:6379/1` or `unix:/run/redis.sock?db=1`. */
export function describeRedisNode(node: RedisNode): string {
  if (node.kind === "unix") return `${describeBind(node)}${node.db === 0 ? "" : `?db=${node.db}`}`;
  return `${node.tls ? "rediss" : "redis"}://${describeBind(node)}${node.db === 0 ? "" : `/${node.db}`}`;
}

/** Where the shared cache is. */
export type RedisPlace =
  | { readonly kind: "standalone"; readonly node: RedisNode }
  | {
      readonly kind: "sentinel";
      /** Name of the master that the Sentinels watch. */
      readonly master: string;
      readonly nodes: readonly [HostPort, ...HostPort[]];
      readonly password: Secret | undefined;
    }
  | { readonly kind: "cluster"; readonly nodes: readonly [HostPort, ...HostPort[]] };

/** As doctor, log and page name it. */
export function describeRedisPlace(place: RedisPlace): string {
  if (place.kind === "standalone") return describeRedisNode(place.node);
  const nodes = place.nodes.map((each) => describeBind({ kind: "tcp", ...each })).join(", ");
  return place.kind === "sentinel" ? `${place.master} by the Sentinels ${nodes}` : `Cluster ${nodes}`;
}

/** The servers in use: their names in events and metrics, and where they are. */
export function describeRedisServers({ place, lockNodes, confirmsOnce }: RedisAccess) {
  const address = describeRedisPlace(place);
  return [
    { node: "cache", address },
    ...(confirmsOnce ? [{ node: claimsNodeName, address }] : []),
    ...lockNodes.map((at, index) => ({ node: lockNodeName(index), address: describeRedisNode(at) })),
  ];
}

/** A further master of the lock, as events and metrics name it: `lock-2`, … after `cache`. */
export function lockNodeName(index: number): string {
  return `lock-${index + 2}`;
}

/** The connection for claims alone, as events and metrics name it. */
export const claimsNodeName = "claims";

/** How replicas reach the Redis that they share, and how they encrypt values in it. */
export interface RedisAccess {
  readonly place: RedisPlace;
  /** Further independent masters for the lock; together with the standalone place an odd number, at least 3. */
  readonly lockNodes: readonly RedisNode[];
  /** ACL user; Redis's default user when absent. The same on every node. */
  readonly username: string | undefined;
  readonly password: Secret | undefined;
  /** Set if Sentinel or Cluster nodes speak TLS, or a node needs a private CA or a client certificate. */
  readonly tls: Tls | undefined;
  /** A replica confirms each claim of a once key (`once.durability: replica`); claims have a connection of their own. */
  readonly confirmsOnce: boolean;
  /** 32 bytes each (AES-256-GCM); the first encrypts, each of them decrypts. */
  readonly encryptionKeys: readonly [Secret, ...Secret[]];
}

/** The present state of one Redis server, for gauges and /status. */
export interface RedisSnapshot {
  /** `cache`, `claims` with `once.durability: replica`, or `lock-2`, … for further masters of the lock. */
  readonly node: string;
  /** Where it is, as configured. */
  readonly address: string;
  /** Undefined until the first connection is up or has failed. */
  readonly isUp: boolean | undefined;
  /** Since when it is up or down, on the monotonic clock. */
  readonly sinceMs: number | undefined;
  /** Why it is down. */
  readonly failure: RedisFailureKind | undefined;
  /** The error's code, such as ECONNREFUSED, if there is one. */
  readonly cause: string | undefined;
}

export const redisFailures = [
  "timeout",
  "connection",
  "tls",
  "readonly",
  "oom",
  "loading",
  "noauth",
  "protected_mode",
  "noperm",
  "wrongtype",
  "noscript",
  "clusterdown",
  "masterdown",
  "tryagain",
  "moved",
  "ask",
  "busy",
  "noreplicas",
  "misconf",
  "no_clock",
  "other",
] as const;
/** Why a Redis command failed: no answer in time, no connection, no TIME in scripts (`no_clock`), or the error's code. */
export type RedisFailureKind = (typeof redisFailures)[number];

/** Whether Redis itself answered so. */
export function isAnswer(kind: RedisFailureKind): boolean {
  return kind !== "timeout" && kind !== "connection" && kind !== "tls";
}

interface Refusal {
  readonly detail: string;
  readonly fix: string;
}

type RedisFailure = Pick<RedisSnapshot, "address" | "failure" | "cause">;

const partDown: Refusal = {
  detail: "a part of it is down",
  fix: "see CLUSTER INFO, or INFO replication, and bring it back",
};

/** Why a Redis that answers cannot be used, and what to do, as clauses: the same words in the log, on the page and in doctor. */
export const redisRefusals: { readonly [Kind in RedisFailureKind]?: Refusal } & Record<"readonly" | "oom", Refusal> = {
  noauth: {
    detail: "it wants a login",
    fix: "add redis.password, and redis.username unless it is Redis's default user",
  },
  protected_mode: {
    detail: "it is in protected mode, and takes connections from its own host alone",
    fix: "give its default user a password (requirepass), which ends that mode; `protected-mode no` would admit everyone who reaches its port",
  },
  noperm: {
    detail: "its user may not do what is needed",
    fix: "countersign doctor says which rule is missing",
  },
  readonly: {
    detail: "it is a replica and takes no writes",
    fix: "name the master; if masters change, let Sentinels find it (redis.sentinel)",
  },
  oom: { detail: "its memory is full", fix: "raise maxmemory, or give Countersign a Redis of its own" },
  loading: { detail: "it is still reading its data", fix: "wait; Countersign needs no persistence there" },
  no_clock: {
    detail: "its scripts get no time (TIME refused, or 0), so replicas can share nothing in it",
    fix: "use a server whose scripts get it: docs/redis.md lists some",
  },
  noreplicas: {
    detail: "no replica confirms what is written",
    fix: "see their state in INFO replication; once.durability or min-replicas-to-write asks for them",
  },
  clusterdown: partDown,
  masterdown: partDown,
};
const wrongLogin: Refusal = {
  detail: "the login is refused",
  fix: "correct redis.password and redis.username, or see that Redis has this user switched on",
};

/** Which Redis is down, why, and what to do, for people. */
export function describeRedisFailure(known: RedisFailure): string {
  const { detail, fix } = explainRedisFailure(known);
  return `${known.address}: ${detail}${fix === undefined ? "" : `; ${fix}`}`;
}

export function explainRedisFailure({ address, failure, cause }: RedisFailure): {
  readonly detail: string | undefined;
  readonly fix?: string;
} {
  const refusal = cause === "WRONGPASS" ? wrongLogin : failure && redisRefusals[failure];
  if (refusal !== undefined) return { ...refusal, detail: `${refusal.detail} (${cause ?? failure})` };
  if (failure === "timeout") return { detail: "no answer in time", fix: "see what keeps it, or the way to it, busy" };
  const found = cause && explainConnectFailure(cause, { place: address, setting: "redis", tlsSetting: "redis.tls" });
  return found || { detail: cause ?? failure };
}

/** Events of Redis. `node` as in `RedisSnapshot`. */
export type RedisEvent =
  /** A command failed; a login counts as a command. */
  | {
      readonly kind: "redis_failed";
      readonly node: string;
      readonly failure: RedisFailureKind;
      /** The first of its kind for a minute, and not one of an outage, such as a login: `redis_down` reports that. */
      readonly isFirst: boolean;
    }
  /** A full Redis drops keys by `maxmemory-policy`: at the start if it may, and each minute in which it did. */
  | {
      readonly kind: "redis_evicts";
      readonly node: string;
      readonly policy: string;
      /** Keys since the last look. */
      readonly evicted: number;
    }
  /**
   * What the scripts do fails, or there is no connection. Tried again each second; reported again when the cause changes, and each
   * minute.
   */
  | {
      readonly kind: "redis_down";
      readonly node: string;
      /** Where it is, as configured. */
      readonly address: string;
      readonly failure: RedisFailureKind;
      /** The error's code, such as ECONNREFUSED, if there is one. */
      readonly cause: string | undefined;
      /** How long it has been down; undefined at first. */
      readonly awayMs: number | undefined;
    }
  | {
      readonly kind: "redis_up";
      readonly node: string;
      /** How long it was down; undefined the first time. */
      readonly awayMs: number | undefined;
    };
