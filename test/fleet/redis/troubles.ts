import { Redis } from "ioredis";
import { expect, onTestFinished } from "vitest";
import type { RedisAccess, RedisFailureKind } from "../../../src/model/redis-access.ts";
import { Secret } from "../../../src/model/secret.ts";
import { aclUser } from "../../../testkit/acl.ts";
import { freePort } from "../../../testkit/free-port.ts";
import type { RealRedis } from "../../../testkit/redis.ts";
import type { Stage } from "../../../testkit/stage.ts";

/** A way to make a real Redis answer with an error, and to end that. */
interface Change {
  /** Resolves when Redis answers with the error. */
  begin(redis: RealRedis): Promise<unknown>;
  end(redis: RealRedis): Promise<unknown>;
}

export interface Trouble extends Omit<Change, "begin"> {
  /** The kind under which the error is counted. */
  readonly kind: RedisFailureKind;
  /** Arguments of redis-server. */
  readonly args?: () => Promise<readonly string[]>;
  /** Changes to the proxy's usual login. */
  readonly login?: Partial<RedisAccess>;
  /** Called before the proxy starts. */
  prepare?(redis: RealRedis): Promise<unknown>;
  begin(redis: RealRedis, pod: Stage): Promise<unknown>;
}

const follow = (...master: readonly [string, string]) => ["REPLICAOF", ...master] as const;
const user = (...rules: readonly string[]) => ["SETUSER", aclUser.username, ...rules] as const;

/** A value of a setting that causes the error, and the value that ends it. */
const setting = (name: string, bad: number, good: number): Change => ({
  begin: (redis) => redis.config(name, bad),
  end: (redis) => redis.config(name, good),
});

const demoted: Change = {
  begin: (redis) => redis.command(...follow("127.0.0.1", "1")),
  end: (redis) => redis.command(...follow("NO", "ONE")),
};
const full = setting("maxmemory", 1, 0);

/** Removes rights from the proxy's user, and gives them back. */
const forbidden = (taken: readonly string[], given: readonly string[]) => ({
  kind: "noperm" as const,
  begin: (redis: RealRedis) => redis.command("ACL", ...user(...taken)),
  end: (redis: RealRedis) => redis.command("ACL", ...user(...given)),
});

/** States in which Redis answers, but accepts no writes. */
export const refusedWrites: readonly [name: string, Change][] = [
  ["NOREPLICAS", setting("min-replicas-to-write", 1, 0)],
  ["OOM", full],
  ["READONLY", demoted],
  ["NOPERM", forbidden(["-set"], ["+set"])],
];

const patience = { timeout: 10_000, interval: 25 };

/** Cuts the connections, since open ones stay logged in. */
async function cutConnections(redis: RealRedis, { recorder }: Stage): Promise<void> {
  await redis.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
  await recorder.nth("redis_down", 1);
}

/** Sends a command that takes long, on a connection of its own; resolves when Redis answers others with an error. */
async function occupy(redis: RealRedis, command: string, ...args: readonly (string | number)[]): Promise<void> {
  // Connects now, since later that is not possible.
  await isAnswering(redis);
  const own = new Redis(redis.port, { retryStrategy: () => null });
  onTestFinished(() => own.disconnect());
  own.call(command, ...args).catch(() => {});
  await expect.poll(() => isAnswering(redis), patience).toBe(false);
}

function isAnswering(redis: RealRedis): Promise<boolean> {
  return redis.command("GET", "any").then(
    () => true,
    () => false,
  );
}

async function untilAnswering(redis: RealRedis): Promise<void> {
  await expect.poll(() => isAnswering(redis), patience).toBe(true);
}

async function haveSlots(redis: RealRedis, change: "ADDSLOTSRANGE" | "DELSLOTSRANGE", state: string): Promise<void> {
  await redis.command("CLUSTER", change, 0, 16_383);
  const info = async () => String(await redis.command("CLUSTER", "INFO"));
  await expect.poll(info, patience).toContain(`cluster_state:${state}`);
}

export const troubles: Readonly<Record<string, Trouble>> = {
  "READONLY, since it was demoted": { kind: "readonly", ...demoted },
  "MASTERDOWN, since its master is gone": {
    kind: "masterdown",
    args: async () => ["--replica-serve-stale-data", "no"],
    ...demoted,
  },
  "OOM, since it is full": {
    kind: "oom",
    args: async () => ["--maxmemory-policy", "noeviction"],
    ...full,
  },
  "NOAUTH, since it has a password now": {
    kind: "noauth",
    login: { username: undefined, password: undefined },
    async begin(redis, pod) {
      await redis.config("requirepass", "canary-other-password");
      await cutConnections(redis, pod);
    },
    end: (redis) => redis.config("requirepass", ""),
  },
  "WRONGPASS, since the password was changed": {
    kind: "noauth",
    async begin(redis, pod) {
      await redis.command("ACL", ...user("resetpass", ">canary-other-password"));
      await cutConnections(redis, pod);
    },
    end: (redis) => redis.command("ACL", ...user("resetpass", `>${aclUser.password}`)),
  },
  "NOPERM, since scripts are forbidden": forbidden(["-eval"], ["+eval"]),
  "NOPERM, since the keys are another's": forbidden(["resetkeys", "~other:*"], ["resetkeys", "~countersign:*"]),
  "NOPERM, since what the scripts do is forbidden": forbidden(["-pttl", "-set"], ["+pttl", "+set"]),
  "BUSY, since a script does not end": {
    kind: "busy",
    args: async () => ["--busy-reply-threshold", "1"],
    begin: (redis) => occupy(redis, "EVAL", "while true do end", 0),
    end: (redis) => redis.command("SCRIPT", "KILL"),
  },
  "LOADING, since it reads its data": {
    kind: "loading",
    // Loading takes two seconds: ten milliseconds a key, and Redis handles other clients after each key.
    args: async () => {
      const pace = ["--key-load-delay", "10000", "--loading-process-events-interval-bytes", "1024"];
      return ["--enable-debug-command", "yes", "--rdbcompression", "no", ...pace];
    },
    prepare: (redis) => redis.command("DEBUG", "POPULATE", 200, "other", 2_000),
    begin: (redis) => occupy(redis, "DEBUG", "RELOAD"),
    end: untilAnswering,
  },
  "CLUSTERDOWN, since some slots have no node": {
    kind: "clusterdown",
    args: async () => {
      const cluster = ["--cluster-enabled", "yes", "--cluster-port", String(await freePort())];
      return [...cluster, "--cluster-node-timeout", "500"];
    },
    prepare: (redis) => haveSlots(redis, "ADDSLOTSRANGE", "ok"),
    begin: (redis) => haveSlots(redis, "DELSLOTSRANGE", "fail"),
    end: (redis) => haveSlots(redis, "ADDSLOTSRANGE", "ok"),
  },
};

export const wrongLogin: Partial<RedisAccess> = {
  username: aclUser.username,
  password: new Secret("canary-other-password"),
};
