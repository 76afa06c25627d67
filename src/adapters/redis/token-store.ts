import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import type { Clock } from "../../model/clock.ts";
import type { Report } from "../../model/events.ts";
import type { RedisAccess } from "../../model/redis-access.ts";
import { Secret } from "../../model/secret.ts";
import type { IssuedToken, LimitEvent, Shared, StoredToken, TokenStore } from "../../oauth/token-store.ts";
import type { RedisConnection } from "./connection.ts";
import { kindOf } from "./failure.ts";
import {
  aheadMs,
  forcedScript,
  formatEndpointPause,
  parseEndpoint,
  parseForced,
  pauseScript,
  readScript,
  redisKeys,
  saveScript,
} from "./scripts.ts";

/** `1:<issued at>:<sealed token>`; see the save script. */
const valueForm = /^1:(\d{1,15}):([A-Za-z0-9_-]+)$/;

const keyIdBytes = 4;
const ivBytes = 12;
const tagBytes = 16;
/** The longest token answer holds 16,384 characters. */
const longestSealedChars = 24_000;
/** Lifetime in ms, then what may stand in a header line. */
const plainForm = /^(\d{1,9})\n([\x21-\x7e]+)$/;

type SealKeys = RedisAccess["encryptionKeys"];

interface TokenStoreParts {
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

  /** Runs a script that writes. It is void when Redis's clock shows that it was held up on its way. */
  const write = (key: string, lua: string, names: readonly string[], args: readonly (string | number)[]) => {
    const offsetMs = offsetsMs.get(key);
    const expected = offsetMs === undefined ? "" : Math.round(clock.nowMs() + offsetMs);
    return connection.run(redisKeys(key).token, (client) =>
      client.eval(lua, names.length, ...names, expected, ...args),
    );
  };

  /** A value with its remaining life; undefined when it is not a token of ours, sealed for this name, with an end. */
  const openValue = (name: string, value: unknown, remainingMs: unknown, redisMs?: number): StoredToken | undefined => {
    const [, issuedAt, sealed] = typeof value === "string" ? (valueForm.exec(value) ?? []) : [];
    if (redisMs !== undefined && Number(issuedAt) > redisMs + aheadMs) return undefined;
    const token = sealed === undefined ? undefined : open(keys, name, sealed);
    if (token === undefined || typeof remainingMs !== "number" || remainingMs <= 0) return undefined;
    return { ...token, remainingMs: Math.min(remainingMs, token.lifetimeMs) };
  };

  const saveOver = async (key: string, token: IssuedToken, ageMs: number, damaged: string): Promise<StoredToken> => {
    const names = redisKeys(key);
    const args = [seal(keys, names.token, token), token.lifetimeMs, ageMs, damaged];
    const reply = await write(key, saveScript, [names.token, names.endpoint], args);
    const [value, remainingMs] = Array.isArray(reply) ? reply : [];
    const newest = openValue(names.token, value, remainingMs);
    if (newest !== undefined) return newest;
    if (typeof value !== "string" || damaged !== "") return { ...token, remainingMs: token.lifetimeMs - ageMs };
    count("unreadable");
    return saveOver(key, token, ageMs, value);
  };

  const writeEvent = (key: string, event: LimitEvent): Promise<unknown> => {
    const names = redisKeys(key);
    if (event.kind === "endpoint_paused") {
      const ms = Math.max(1, Math.ceil(event.pause.remainingMs));
      return write(key, pauseScript, [names.endpoint], [formatEndpointPause(event.pause, ms), ms]);
    }
    return write(key, forcedScript, [...event.useless.keys()].map(names.forced), [...event.useless.values()]);
  };

  return {
    async read(key, sites = []): Promise<Shared> {
      const names = redisKeys(key);
      let askedAtMs = 0;
      try {
        const wanted = [names.token, names.endpoint, ...sites.map(names.forced)];
        const reply = await connection.run(names.token, (client) => {
          askedAtMs = clock.nowMs();
          return client.eval(readScript, wanted.length, ...wanted);
        });
        const [nowMs, value, remainingMs, pause, pauseKeptMs, ...counts]: unknown[] = Array.isArray(reply) ? reply : [];
        // Counted from the question: an answer that waited for a busy event loop must not make the next command seem late.
        if (typeof nowMs === "number") offsetsMs.set(key, nowMs - askedAtMs);
        for (const part of [value, pause, ...counts]) if (part instanceof Error) connection.count(kindOf(part));
        const token = openValue(names.token, value, remainingMs, typeof nowMs === "number" ? nowMs : undefined);
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

    async save(key, { secret, lifetimeMs }, age) {
      const ageMs = Math.ceil(age);
      const own = { secret, lifetimeMs, remainingMs: lifetimeMs - ageMs };
      if (own.remainingMs <= 0) return own;
      // The connection has counted what went wrong, and the caller keeps its token.
      return saveOver(key, { secret, lifetimeMs }, ageMs, "").catch(() => own);
    },

    async record(key, event) {
      await writeEvent(key, event).catch(() => {});
    },

    forget(key) {
      offsetsMs.delete(key);
    },
  };
}

/**
 * Seals a token so that only holders of a key can read it, and only under this name: base64url of key id, nonce,
 * ciphertext and tag. The name is authenticated with it, so a value moved to another set's name does not open.
 */
export function seal([key]: SealKeys, name: string, { secret, lifetimeMs }: IssuedToken): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv("aes-256-gcm", key.key, iv).setAAD(Buffer.from(name, "utf8"));
  const body = Buffer.concat([cipher.update(`${lifetimeMs}\n${secret.reveal()}`, "utf8"), cipher.final()]);
  return Buffer.concat([keyId(key), iv, body, cipher.getAuthTag()]).toString("base64url");
}

/** Opens what `seal` made; undefined for anything else. */
export function open(keys: SealKeys, name: string, sealed: string): IssuedToken | undefined {
  if (sealed.length > longestSealedChars) return undefined;
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.length <= keyIdBytes + ivBytes + tagBytes) return undefined;
  const id = bytes.subarray(0, keyIdBytes);
  for (const key of keys) {
    const text = keyId(key).equals(id) ? decrypt(key, name, bytes.subarray(keyIdBytes)) : undefined;
    const [, lifetime, token] = plainForm.exec(text ?? "") ?? [];
    if (lifetime !== undefined && token !== undefined) {
      return { secret: new Secret(token), lifetimeMs: Number(lifetime) };
    }
  }
  return undefined;
}

function decrypt(key: Secret, name: string, bytes: Buffer): string | undefined {
  const decipher = createDecipheriv("aes-256-gcm", key.key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(name, "utf8")).setAuthTag(bytes.subarray(-tagBytes));
  try {
    const body = bytes.subarray(ivBytes, -tagBytes);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}

/** Tells keys apart while they are rolled, and says nothing about them. */
function keyId(key: Secret): Buffer {
  return createHmac("sha256", key.key).update("countersign token key").digest().subarray(0, keyIdBytes);
}
