import type { Clock } from "../../model/clock.ts";
import type { Report } from "../../model/events.ts";
import { quietConduct } from "../../oauth/shared-limits.ts";
import type { IssuedToken, Shared, StoredToken, TokenStore } from "../../oauth/token-store.ts";
import type { RedisConnection } from "./connection.ts";
import { kindOf } from "./failure.ts";
import { redisKeys } from "./keys.ts";
import { noteLua } from "./note.lua.ts";
import { parseConduct } from "./parse-shared-limits.ts";
import { readLua } from "./read.lua.ts";
import { saveLua } from "./save.lua.ts";
import { runScript, script } from "./script.ts";
import { open, type SealKeys, seal } from "./seal.ts";
import { aheadMs } from "./shared-limits.lua.ts";

const readScript = script(readLua);
const saveScript = script(saveLua);
const noteScript = script(noteLua);

/** `1:<issued at>:<sealed token>`; see save.lua.ts. */
const valueForm = /^1:(\d{1,15}):([A-Za-z0-9_-]+)$/;

export interface TokenStoreParts {
  readonly connection: RedisConnection;
  readonly keys: SealKeys;
  readonly clock: Clock;
  readonly report: Report;
}

/**
 * The shared store. A failing Redis reads as an empty one; what cannot be opened is a miss, counted, and overwritten by
 * the next save.
 */
export function createRedisTokenStore({ connection, keys, clock, report }: TokenStoreParts): TokenStore {
  /** Redis's clock minus ours, by cache key: in a Cluster each may be on another server. Bounded by the keys in use. */
  const offsetsMs = new Map<string, number>();
  const count = (result: "hit" | "miss" | "unreadable" | "error") =>
    report({ kind: "token_cache_read", tier: "redis", result });

  /** What Redis's clock should say, so that a command that was held up on its way is void; "" when nobody knows. */
  const redisTime = (key: string): number | "" => {
    const offsetMs = offsetsMs.get(key);
    return offsetMs === undefined ? "" : Math.round(clock.nowMs() + offsetMs);
  };

  /** A value with its remaining life; undefined when it is not a token of ours, sealed for this name, with an end. */
  const openValue = (name: string, value: unknown, remainingMs: unknown, redisMs: unknown): StoredToken | undefined => {
    const [, issuedAt, sealed] = typeof value === "string" ? (valueForm.exec(value) ?? []) : [];
    if (typeof redisMs === "number" && Number(issuedAt) > redisMs + aheadMs) return undefined;
    const token = sealed === undefined ? undefined : open(keys, name, sealed);
    if (token === undefined || typeof remainingMs !== "number" || remainingMs <= 0) return undefined;
    return { ...token, remainingMs: Math.min(remainingMs, token.lifetimeMs) };
  };

  const saveOver = async (key: string, token: IssuedToken, ageMs: number, damaged: string): Promise<StoredToken> => {
    const own = { ...token, remainingMs: token.lifetimeMs - ageMs };
    const names = redisKeys(key);
    const args = [seal(keys, names.token, token), token.lifetimeMs, ageMs, damaged, redisTime(key)];
    const reply = await connection.run(names.token, (client) =>
      runScript(client, saveScript, [names.token, names.conduct], args),
    );
    const [value, remainingMs] = Array.isArray(reply) ? reply : [];
    const inForce = openValue(names.token, value, remainingMs, undefined);
    if (inForce !== undefined) return inForce;
    if (typeof value !== "string" || damaged !== "") return own;
    count("unreadable");
    return saveOver(key, token, ageMs, value);
  };

  return {
    async read(key): Promise<Shared> {
      const names = redisKeys(key);
      let askedAtMs = 0;
      try {
        const reply = await connection.run(names.token, (client) => {
          askedAtMs = clock.nowMs();
          return runScript(client, readScript, [names.token, names.conduct]);
        });
        const [value, remainingMs, conduct, redisMs] = Array.isArray(reply) ? reply : [];
        // Counted from the question: an answer that waited for a busy event loop must not make the next command seem late.
        if (typeof redisMs === "number") offsetsMs.set(key, redisMs - askedAtMs);
        for (const part of [value, conduct]) if (part instanceof Error) connection.count(kindOf(part));
        const token = openValue(names.token, value, remainingMs, redisMs);
        count(token !== undefined ? "hit" : value === null ? "miss" : "unreadable");
        const isThere = typeof conduct === "string" && typeof redisMs === "number";
        return { token, conduct: isThere ? parseConduct(conduct, redisMs) : quietConduct };
      } catch {
        count("error");
        return { token: undefined, conduct: undefined };
      }
    },

    async save(key, { secret, lifetimeMs }, age) {
      const token = { secret, lifetimeMs };
      const ageMs = Math.ceil(age);
      const own = { ...token, remainingMs: lifetimeMs - ageMs };
      if (own.remainingMs <= 0) return own;
      // The connection has counted what went wrong, and the caller keeps its token.
      return saveOver(key, token, ageMs, "").catch(() => own);
    },

    async note(key, note) {
      const { conduct } = redisKeys(key);
      const text = JSON.stringify(note);
      const args = [text, redisTime(key)];
      await connection.run(conduct, (client) => runScript(client, noteScript, [conduct], args)).catch(() => {});
    },

    forget(key) {
      offsetsMs.delete(key);
    },
  };
}
