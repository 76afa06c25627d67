import { createHash, randomBytes } from "node:crypto";
import { Cluster, type Redis } from "ioredis";
import { type Clock, within } from "../../model/clock.ts";
import type { RedisClient } from "./client.ts";
import { kindOf, RedisFailure, type RedisTrouble, troubleOf } from "./failure.ts";
import { confirmByReplica } from "./replicas.ts";
import { redisKey } from "./scripts.ts";
import { readServerFacts, type ServerFacts } from "./server-facts.ts";

/** The result of a probe of Redis. */
export type RedisProbe =
  /** No connection, no login, or no answer. */
  | { readonly kind: "refused"; readonly trouble: RedisTrouble }
  | {
      readonly kind: "answered";
      /** An error of the greeting on a connection that was made, such as a database that may not be selected. */
      readonly objection: RedisTrouble | undefined;
      /** At least one. */
      readonly roundTripsMs: readonly number[];
      readonly tried: readonly TriedCommand[];
      /** Why the trial script fails. Undefined: it works. */
      readonly scripts: RedisTrouble | undefined;
      readonly facts: ServerFacts | undefined;
    };

export interface TriedCommand {
  /** In lower case, as in ACL rules, e.g. `set` or `cluster|info`. */
  readonly name: string;
  /** Undefined: it works. */
  readonly trouble: RedisTrouble | undefined;
}

const longestConnectMs = 3_000;
const roundTrips = 20;
/** Keys of the probe expire, even if its process is killed. */
const probeLifeMs = 10_000;

const lua = "return KEYS[1]";

type Command = (client: RedisClient, key: string) => Promise<unknown>;

/** Each command that Countersign needs, in this order: a key is set before it is read, and deleted at the end. */
const commands: Readonly<Record<string, Command>> = {
  set: (client, key) => client.set(key, "probe", "PX", probeLifeMs),
  get: (client, key) => client.get(key),
  pttl: (client, key) => client.pttl(key),
  eval: (client, key) => client.eval(lua, 1, key),
  evalsha: (client, key) => client.evalsha(createHash("sha1").update(lua).digest("hex"), 1, key),
  time: (client) => client.time(),
  info: (client) => client.info("server"),
  ping: (client) => client.ping(),
  del: (client, key) => client.del(key),
};

/** With `once.durability: replica`. */
const confirmingCommands: Readonly<Record<string, Command>> = { wait: confirmByReplica };

/** Each node of a Cluster has users and rules of its own. */
const clusterCommands: Readonly<Record<string, (node: Redis) => Promise<unknown>>> = {
  "cluster|slots": (node) => node.cluster("SLOTS"),
  "cluster|info": (node) => node.cluster("INFO"),
  asking: (node) => node.asking(),
};

/**
 * Uses Redis once in every way that Countersign does, on keys of its own: connects, measures, tries each command, and asks
 * the server about itself. Never fails, and disconnects the client.
 * @param cacheKeys the probe's keys are on the same nodes as these keys': in a Cluster each may be on another node
 * @param trial does what the scripts do that use this server
 * @param isConfirmed a replica has to confirm what is written
 */
export async function probeRedis(
  client: RedisClient,
  cacheKeys: readonly string[],
  trial: string,
  clock: Clock,
  isConfirmed: boolean,
): Promise<RedisProbe> {
  const errors: RedisTrouble[] = [];
  const onError = (error: unknown) => void errors.push(troubleOf(error));
  // A Cluster client reports the error of each node, and then only that no node is left.
  client.on("node error", onError).on("error", onError);
  try {
    const refusal = await connect(client, errors, clock);
    if (refusal !== undefined) return { kind: "refused", trouble: refusal };
    const [objection] = errors;
    const keys = cacheKeys.map((key) => redisKey(key, `probe-${randomBytes(8).toString("hex")}`));
    const { tookMs, lost } = await measure(client, keys[0] ?? redisKey("probe", "probe"), clock);
    if (lost !== undefined && tookMs.length === 0) return { kind: "refused", trouble: lost };
    const tried = await tryCommands(client, keys, isConfirmed);
    const scripts = await firstTrouble(keys.map((key) => () => client.eval(trial, 1, key)));
    return { kind: "answered", objection, roundTripsMs: tookMs, tried, scripts, facts: await readServerFacts(client) };
  } finally {
    client.disconnect();
  }
}

/** The first error is the reason: after it the client only tries again. */
async function connect(
  client: RedisClient,
  errors: readonly RedisTrouble[],
  clock: Clock,
): Promise<RedisTrouble | undefined> {
  const connecting = client.connect().then(() => "connected" as const, troubleOf);
  const outcome = await within(clock, connecting, longestConnectMs);
  return outcome === "connected" ? undefined : (errors[0] ?? outcome ?? troubleOf(new RedisFailure("timeout")));
}

/** Measures reads, the most frequent command. An error is an answer too; a missing answer ends the series. */
async function measure(
  client: RedisClient,
  key: string,
  clock: Clock,
): Promise<{ tookMs: readonly number[]; lost?: RedisTrouble }> {
  const tookMs: number[] = [];
  while (tookMs.length < roundTrips) {
    const sinceMs = clock.nowMs();
    const lost = await client.get(key).then(
      () => undefined,
      (error: unknown) => (["timeout", "connection"].includes(kindOf(error)) ? troubleOf(error) : undefined),
    );
    if (lost !== undefined) return { tookMs, lost };
    tookMs.push(clock.nowMs() - sinceMs);
  }
  return { tookMs };
}

async function tryCommands(
  client: RedisClient,
  keys: readonly string[],
  isConfirmed: boolean,
): Promise<TriedCommand[]> {
  const tried: TriedCommand[] = [];
  if (client instanceof Cluster) {
    for (const [name, run] of Object.entries(clusterCommands)) {
      tried.push({ name, trouble: await firstTrouble(client.nodes("master").map((node) => () => run(node))) });
    }
  }
  for (const [name, run] of Object.entries({ ...commands, ...(isConfirmed && confirmingCommands) })) {
    tried.push({ name, trouble: await firstTrouble(keys.map((key) => () => run(client, key))) });
  }
  return tried;
}

async function firstTrouble(runs: readonly (() => Promise<unknown>)[]): Promise<RedisTrouble | undefined> {
  const troubles = await Promise.all(runs.map((run) => run().then(() => undefined, troubleOf)));
  return troubles.find((trouble) => trouble !== undefined);
}
