import type { RedisClient } from "./client.ts";

/** What a server says about itself (INFO). Foreign text: words of letters, digits, dots and hyphens. */
export interface ServerFacts {
  readonly version: string | undefined;
  /** `master` or `slave`. */
  readonly role: string | undefined;
  /** If it is the same at two addresses, they are one server. */
  readonly runId: string | undefined;
  /** `noeviction`, or the policy by which a full server deletes keys. */
  readonly evictionPolicy: string | undefined;
  readonly evictedKeys: number;
  /** Whether it writes each change to disk (`appendonly`). */
  readonly isAppendOnly: boolean;
}

/** Undefined if INFO is not permitted. In a Cluster any one of the nodes answers. */
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
    isAppendOnly: read("aof_enabled") === "1",
    evictedKeys: /^\d{1,15}$/.test(evicted) ? Number(evicted) : 0,
  };
}
