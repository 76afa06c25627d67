import { createHash } from "node:crypto";
import type { RedisClient } from "./client.ts";
import { kindOf } from "./failure.ts";

/** A Lua script; Redis knows it by its SHA-1 once it has run. */
export interface Script {
  readonly lua: string;
  readonly sha: string;
}

export function script(lua: string): Script {
  return { lua, sha: createHash("sha1").update(lua).digest("hex") };
}

/** Runs a script by its hash; a server that does not know it gets the text (after a restart or SCRIPT FLUSH). */
export async function runScript(
  client: RedisClient,
  { lua, sha }: Script,
  keys: readonly string[],
  args: readonly (string | number)[] = [],
): Promise<unknown> {
  try {
    return await client.evalsha(sha, keys.length, ...keys, ...args);
  } catch (error) {
    if (kindOf(error) !== "noscript") throw error;
    return await client.eval(lua, keys.length, ...keys, ...args);
  }
}
