import type { Clock } from "../../model/clock.ts";
import type { Report } from "../../model/events.ts";
import { Secret } from "../../model/secret.ts";
import type { IssuedToken, Shared, StoredToken, TokenStore } from "../../oauth/token-store.ts";
import type { RedisConnection } from "./connection.ts";
import { kindOf } from "./failure.ts";
import type { LuaScript } from "./lua-script.ts";
import {
  aheadMs,
  forcedScript,
  formatEndpointPause,
  formatForced,
  parseEndpoint,
  parseForced,
  pauseScript,
  readScript,
  redisKeys,
  saveScript,
} from "./scripts.ts";
import { open, type SealKeys, seal } from "./seal.ts";

/** `1:<issued at>:<sealed token>`; see the save script. */
const valueForm = /^1:(\d{1,15}):([A-Za-z0-9_-]+)$/;

/** A token answer has 16,384 characters at most. */
const longestSealedChars = 24_000;
/**
 * `<lifetime in ms> <issued within ms> <1 if the token is repeated, else 0>`, then a token of characters that a header line may
 * have.
 */
const plainForm = /^(\d{1,9}) (\d{1,9}) ([01])\n([\x21-\x7e]+)$/;

interface TokenStoreParts {
  readonly connection: RedisConnection;
  readonly keys: SealKeys;
  readonly clock: Clock;
  readonly report: Report;
}

/**
 * The store that replicas share. A failing Redis counts as an empty one. A value that cannot be opened counts as missing, is
 * reported, and overwritten by the next save.
 */
export function createRedisTokenStore({ connection, keys, clock, report }: TokenStoreParts): TokenStore {
  /** Redis's clock minus ours, by cache key: in a Cluster each key may be on another server. Bounded by the keys in use. */
  const offsetsMs = new Map<string, number>();
  const count = (result: "hit" | "miss" | "unreadable" | "error") =>
    report({ kind: "token_cache_read", tier: "redis", result });

  /** The reply of the read script: for each name its value, and its remaining ms. Redis's clock is noted, and errors are counted. */
  const ask = async (key: string, names: readonly string[]): Promise<{ redisMs?: number; values: unknown[] }> => {
    let askedAtMs = 0;
    const reply = await connection.run(redisKeys(key).token, (client) => {
      askedAtMs = clock.nowMs();
      return readScript.run(client, names, []);
    });
    const [redisMs, ...values]: unknown[] = Array.isArray(reply) ? reply : [];
    for (const value of values) if (value instanceof Error) connection.count(kindOf(value));
    if (typeof redisMs !== "number") return { values };
    // Counted from the sending: if a busy event loop delays the answer, the next command must not seem late.
    offsetsMs.set(key, redisMs - askedAtMs);
    return { redisMs, values };
  };

  /** Runs a script that writes. The script does nothing if Redis's clock shows that it was delayed on its way. */
  const write = (key: string, script: LuaScript, names: readonly string[], args: readonly (string | number)[]) => {
    const offsetMs = offsetsMs.get(key);
    const expected = offsetMs === undefined ? "" : Math.round(clock.nowMs() + offsetMs);
    return connection.run(redisKeys(key).token, (client) => script.run(client, names, [expected, ...args]));
  };

  /** A value's token with its remaining life; undefined unless it is ours, sealed for this name, and has an expiry. */
  const openValue = (name: string, value: unknown, remainingMs: unknown, redisMs?: number): StoredToken | undefined => {
    const [, issuedAt, sealed] = typeof value === "string" ? (valueForm.exec(value) ?? []) : [];
    if (redisMs !== undefined && Number(issuedAt) > redisMs + aheadMs) return undefined;
    const token = sealed === undefined ? undefined : openToken(keys, name, sealed);
    if (token === undefined || typeof remainingMs !== "number" || remainingMs <= 0) return undefined;
    return { ...token, remainingMs: Math.min(remainingMs, token.lifetimeMs) };
  };

  const saveOver = async (key: string, token: IssuedToken, ageMs: number, damaged: string): Promise<StoredToken> => {
    const names = redisKeys(key);
    const args = [sealToken(keys, names.token, token), token.lifetimeMs, ageMs, damaged];
    const reply = await write(key, saveScript, [names.token, names.endpoint], args);
    const [value, remainingMs] = Array.isArray(reply) ? reply : [];
    const newest = openValue(names.token, value, remainingMs);
    if (newest !== undefined) return newest;
    if (typeof value !== "string" || damaged !== "") return { ...token, remainingMs: token.lifetimeMs - ageMs };
    count("unreadable");
    return saveOver(key, token, ageMs, value);
  };

  return {
    async read(key, sites = []): Promise<Shared> {
      const names = redisKeys(key);
      try {
        const { redisMs, values } = await ask(key, [names.token, names.endpoint, ...sites.map(names.forced)]);
        const [value, remainingMs, pause, pauseKeptMs, ...counts] = values;
        const token = openValue(names.token, value, remainingMs, redisMs);
        count(token !== undefined ? "hit" : value === null ? "miss" : "unreadable");
        const forced = sites.flatMap((site, n) => {
          const parsed = parseForced(counts[2 * n], counts[2 * n + 1]);
          return parsed === undefined ? [] : [[site, parsed] as const];
        });
        return { token, limits: { endpoint: parseEndpoint(pause, pauseKeptMs), forced: new Map(forced) } };
      } catch {
        count("error");
        return { token: undefined, limits: undefined };
      }
    },

    async readPause(key) {
      const { values } = await ask(key, [redisKeys(key).endpoint]).catch(() => ({ values: [] }));
      return parseEndpoint(values[0], values[1]);
    },

    async save(key, { secret, lifetimeMs, issuedWithinMs, isRepeated }, age) {
      const ageMs = Math.ceil(age);
      const token = { secret, lifetimeMs, issuedWithinMs: Math.ceil(issuedWithinMs), isRepeated };
      const own = { ...token, remainingMs: lifetimeMs - ageMs };
      if (own.remainingMs <= 0) return own;
      // The connection has counted the failure, and the caller keeps its token.
      return saveOver(key, token, ageMs, "").catch(() => own);
    },

    async pause(key, pause) {
      const ms = Math.max(1, Math.ceil(pause.remainingMs));
      const args = [formatEndpointPause(pause, ms), ms];
      await write(key, pauseScript, [redisKeys(key).endpoint], args).catch(() => {});
    },

    async countForced(key, counts) {
      const names = [...counts.keys()].map(redisKeys(key).forced);
      await write(key, forcedScript, names, [...counts.values()].map(formatForced)).catch(() => {});
    },

    forget(key) {
      offsetsMs.delete(key);
    },
  };
}

/** Seals the token with all that a reader must know of it. */
export function sealToken(keys: SealKeys, name: string, token: IssuedToken): string {
  const { secret, lifetimeMs, issuedWithinMs, isRepeated } = token;
  const head = `${lifetimeMs} ${issuedWithinMs} ${isRepeated ? 1 : 0}`;
  return seal(keys, name, Buffer.from(`${head}\n${secret.reveal()}`, "utf8"));
}

export function openToken(keys: SealKeys, name: string, sealed: string): IssuedToken | undefined {
  const text = sealed.length > longestSealedChars ? undefined : open(keys, name, sealed)?.toString("utf8");
  const [, lifetime, issuedWithin, repeated, token] = plainForm.exec(text ?? "") ?? [];
  if (token === undefined) return undefined;
  return {
    secret: new Secret(token),
    lifetimeMs: Number(lifetime),
    issuedWithinMs: Number(issuedWithin),
    isRepeated: repeated === "1",
  };
}
