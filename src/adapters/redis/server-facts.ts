import type { RedisClient } from "./client.ts";

/** What a server says of itself (INFO). Foreign text: words of letters, digits, dots and hyphens. */
export interface ServerFacts {
  readonly version: string | undefined;
  /** `master` or `slave`. */
  readonly role: string | undefined;
  /** The same at two addresses: they are one server. */
  readonly runId: string | undefined;
  /** `noeviction`, or how it makes room. */
  readonly evictionPolicy: string | undefined;
  readonly evictedKeys: number;
}

/** Undefined where it may not be asked. In a Cluster it is any one of the nodes that answers. */
export async function readServerFacts(client: RedisClient): Promise<ServerFacts | undefined> {
  const text = await client.info().catch(() => undefined);
  if (text === undefined) return undefined;
  const read = (name: string) => new RegExp(`^${name}:([\\w.-]{1,64})\\r?$`, "m").exec(text)?.[1];
  const evicted = read("evicted_keys") ?? "";
  return {
    version: read("redis_version"),
    role: read("role"),
    runId: read("run_id"),
    evictionPolicy: read("maxmemory_policy"),
    evictedKeys: /^\d{1,15}$/.test(evicted) ? Number(evicted) : 0,
  };
}
