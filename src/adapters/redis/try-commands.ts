import { Cluster, type Redis } from "ioredis";
import type { RedisClient } from "./client.ts";
import { script } from "./script.ts";
import { type RedisTrouble, troubleOf } from "./trouble.ts";

export interface TriedCommand {
  /** In lower case, as ACL rules have it, e.g. `set` or `cluster|info`. */
  readonly name: string;
  /** Undefined: it works. */
  readonly trouble: RedisTrouble | undefined;
}

/** Whatever becomes of who tries, nothing is left behind. */
const probeLifeMs = 10_000;
const probeScript = script("return KEYS[1]");

type Try = readonly [name: string, run: (client: RedisClient, key: string) => Promise<unknown>];

/** In this order: a key is there before it is read, and gone at the end. */
const tries: readonly Try[] = [
  ["set", (client, key) => client.set(key, "probe", "PX", probeLifeMs)],
  ["get", (client, key) => client.get(key)],
  ["exists", (client, key) => client.exists(key)],
  ["pttl", (client, key) => client.pttl(key)],
  ["eval", (client, key) => client.eval(probeScript.lua, 1, key)],
  ["evalsha", (client, key) => client.evalsha(probeScript.sha, 1, key)],
  ["time", (client) => client.time()],
  ["info", (client) => client.info("server")],
  ["ping", (client) => client.ping()],
  ["del", (client, key) => client.del(key)],
];

const clusterTries: readonly (readonly [string, (node: Redis) => Promise<unknown>])[] = [
  ["cluster|slots", (node) => node.cluster("SLOTS")],
  ["cluster|info", (node) => node.cluster("INFO")],
  ["asking", (node) => node.asking()],
];

/** Runs each command that Countersign needs once on each key. Never fails. */
export async function tryCommands(client: RedisClient, keys: readonly string[]): Promise<TriedCommand[]> {
  const tried = new Map<string, TriedCommand>(tries.map(([name]) => [name, { name, trouble: undefined }]));
  for (const key of keys) {
    for (const [name, run] of tries) {
      const trouble = await attempt(() => run(client, key));
      if (trouble !== undefined) tried.set(name, { name, trouble });
    }
  }
  return [...(client instanceof Cluster ? await tryOnMasters(client) : []), ...tried.values()];
}

/** Each has users and rules of its own. */
async function tryOnMasters(cluster: Cluster): Promise<TriedCommand[]> {
  const tried: TriedCommand[] = [];
  for (const [name, run] of clusterTries) {
    const troubles = await Promise.all(cluster.nodes("master").map((node) => attempt(() => run(node))));
    tried.push({ name, trouble: troubles.find((trouble) => trouble !== undefined) });
  }
  return tried;
}

/** A script that the server does not know was allowed to be asked for. */
async function attempt(run: () => Promise<unknown>): Promise<RedisTrouble | undefined> {
  const trouble = await run().then(() => undefined, troubleOf);
  return trouble?.kind === "noscript" ? undefined : trouble;
}
