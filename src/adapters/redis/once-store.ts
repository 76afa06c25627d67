import { createHash, createHmac } from "node:crypto";
import type { Secret } from "../../model/secret.ts";
import type { FirstRequest, KeyUse, OnceStore, RequestEnd } from "../../proxy/once-store.ts";
import type { RedisConnection } from "./connection.ts";
import { DeferredWrites, type Write } from "./deferred-writes.ts";
import { luaNow, redisKey, runScript, script } from "./scripts.ts";
import { keyId, type SealKeys } from "./seal.ts";

/** Ends of requests that could not be written wait here; a few hundred bytes each. */
const mostKept = 1_024;

/**
 * Claims a key, unless it has been claimed.
 *
 * KEYS  1 key
 * ARGV  1 request id, 2 digest, 3 lease in ms, 4 lifetime in ms
 * Returns { Redis's clock in ms, what stands there or nil }.
 */
const claimScript = `${luaNow}
local found = redis.call('GET', KEYS[1])
if found then return { now, found } end
local value = string.format('%s %s %.0f in_progress %.0f', ARGV[1], ARGV[2], now, now + ARGV[3])
redis.call('SET', KEYS[1], value, 'PX', ARGV[4])
return { now, false }
`;

/**
 * Writes the end of a request, or deletes its key, unless another request has it. A key that is gone, because Redis has lost it,
 * is written again.
 *
 * KEYS  1 key
 * ARGV  1 request id, 2 digest, 3 outcome and status, or nothing to delete it, 4 lifetime in ms
 */
const recordEndScript = script(`${luaNow}
local found = redis.call('GET', KEYS[1])
local id, at
if found then id, at = string.match(found, '^(%S+) %S+ (%d+) ') end
if found and id ~= ARGV[1] then return 0 end
if ARGV[3] == '' then return redis.call('DEL', KEYS[1]) end
at = at or string.format('%.0f', now)
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. at .. ' ' .. ARGV[3], 'PX', ARGV[4])
return 1
`);

/** `<request id> <digest> <ms since 1970>`, and then `in_progress <until>` or `answered 200`, `unknown -`. */
const form =
  /^([\w-]{1,64}) ([\w-]{1,64}\.[\w-]{1,64}) (\d{1,15}) (?:in_progress (\d{1,15})|(answered|unknown) (\d{3}|-))$/;

/**
 * Keys that replicas share: a string for each. A server that is full, read-only or away takes none.
 * @param keys those that seal tokens: digests of requests are made with the first
 */
export function createRedisOnceStore(connection: RedisConnection, keys: SealKeys): OnceStore {
  // A key whose end is not known is never free, so each end is worth another try, whatever it failed with.
  const ends = new DeferredWrites(connection, { most: mostKept, keeps: () => true });

  return {
    async claim(use) {
      const name = nameOf(use);
      const digest = digestOf(keys[0], name, use);
      const args = [use.requestId, digest, Math.ceil(use.leaseMs), Math.ceil(use.lifetimeMs)];
      // An earlier request of this process may have to free this very key.
      await ends.resumeOf(name);
      let isSent = false;
      let reply: unknown;
      try {
        reply = await connection.run(name, (client) => {
          isSent = true;
          // One command and no second try: nothing claims the key once it has been freed again.
          return client.eval(claimScript, 1, name, ...args);
        });
      } catch (error) {
        // It may have been made, or be made yet.
        if (isSent) await ends.write(writeOfEnd(name, digest, use, { outcome: "not_sent" })).catch(() => {});
        throw error;
      }
      // It is written to again, perhaps without having been away.
      void ends.resume();
      const [nowMs, found]: readonly unknown[] = Array.isArray(reply) ? reply : [];
      if (typeof nowMs === "number" && found === null) return undefined;
      if (typeof nowMs === "number" && typeof found === "string") return readFirst(found, nowMs, name, use, keys);
      throw new Error("a claim was answered in a form of its own");
    },

    async recordEnd(use, end) {
      const name = nameOf(use);
      await ends.write(writeOfEnd(name, digestOf(keys[0], name, use), use, end));
    },
  };
}

/** A key is remembered whatever becomes of the keys that seal. */
function nameOf({ scope }: KeyUse): string {
  return redisKey(createHash("sha256").update(JSON.stringify(scope)).digest("hex"), "once");
}

/** Of a request the last end counts. */
function writeOfEnd(name: string, digest: string, use: KeyUse, { outcome, status }: RequestEnd): Write {
  const end = outcome === "not_sent" ? "" : `${outcome} ${status ?? "-"}`;
  const args = [use.requestId, digest, end, Math.ceil(use.lifetimeMs)];
  return { id: `${name} ${use.requestId}`, name, send: (client) => runScript(client, recordEndScript, [name], args) };
}

/** A reader of Redis cannot guess a request from it, nor compare those of two keys. */
function digestOf(key: Secret, name: string, { content }: KeyUse): string {
  const digest = createHmac("sha256", key.key).update(`countersign once\n${name}\n${content}`).digest();
  return `${keyId(key).toString("base64url")}.${digest.subarray(0, 16).toString("base64url")}`;
}

/** @throws Error where the value is damaged: nothing is known then, and nothing may be sent */
function readFirst(value: string, nowMs: number, name: string, use: KeyUse, keys: SealKeys): FirstRequest {
  const [, requestId, digest = "", at, untilMs, outcome, status] = form.exec(value) ?? [];
  if (requestId === undefined) throw new Error("a key of Countersign-Once is damaged");
  return { requestId, atMs: Number(at), end: endOf(), isSame: isSame() };

  function endOf(): RequestEnd | undefined {
    if (untilMs !== undefined) return nowMs < Number(untilMs) ? undefined : { outcome: "unknown" };
    return {
      outcome: outcome === "answered" ? "answered" : "unknown",
      status: status === "-" ? undefined : Number(status),
    };
  }

  /** What was digested with a key that is no longer configured cannot be compared. */
  function isSame(): boolean {
    const own = keys.map((key) => digestOf(key, name, use));
    const [id] = digest.split(".");
    return own.includes(digest) || !own.some((each) => each.split(".")[0] === id);
  }
}
