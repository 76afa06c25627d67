import { createHash } from "node:crypto";
import type { Redis } from "ioredis";
import type { RedisClient } from "./client.ts";

/** Redis does not have the script, or does not run scripts by their digest: it has done nothing. */
const needsText = /^NOSCRIPT\b|'evalsha'/i;
const hasNoScript = /^NOSCRIPT\b/;

/** Servers that run scripts by their text alone: the user lacks `+evalsha`. */
const textOnly = new WeakSet<RedisClient>();

/** A script in Redis. It goes there by its digest; its text follows once for each server, which then has it. */
export class LuaScript {
  readonly #text: string;
  readonly #digest: string;

  constructor(text: string) {
    this.#text = text;
    this.#digest = createHash("sha1").update(text).digest("hex");
  }

  run(client: RedisClient, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    writeTogether(client);
    const runText = () => client.eval(this.#text, keys.length, ...keys, ...args);
    if (textOnly.has(client)) return runText();
    return client.evalsha(this.#digest, keys.length, ...keys, ...args).catch((error: unknown) => {
      const message = error instanceof Error ? error.message : "";
      if (!needsText.test(message)) throw error;
      if (!hasNoScript.test(message)) textOnly.add(client);
      return runText();
    });
  }
}

/** The commands of one turn go out in one write. */
function writeTogether(client: RedisClient): void {
  const { stream } = client as Partial<Redis>;
  if (stream === undefined || stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}
