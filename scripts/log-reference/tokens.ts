import type { TokenEvent } from "../../src/model/events.ts";
import type { RedisEvent } from "../../src/model/redis-access.ts";
import { common, type Reference } from "./line.ts";

const { environment, site, credential, isFirst } = common;

const node = "`cache`, or `lock-2`, `lock-3`, … for further masters of the lock.";
const failure = "Why: `timeout`, `connection`, `tls`, or the kind of Redis's error, such as `readonly` or `noauth`.";
const reason =
  "Why a token was wanted: `start`, `missing`, `due`, `expired`, `unauthorized` (a 401), `redis_recovered` or `reload`.";

/** The lines of tokens and of the cache that replicas share. */
export const tokenLines: Reference<TokenEvent["kind"] | RedisEvent["kind"]> = {
  token_requested: {
    levels: ["info", "warn"],
    when: "One request to the authorization server has ended; `warn` unless it brought a token.",
    fields: {
      environment,
      credential,
      result:
        "`issued`, `refused`, `throttled`, `failed`, `timed_out` or `malformed` (a 200 that holds no sound token).",
      reason,
      durationMs: "How long it took.",
      status: "The HTTP status, where it answered.",
      cause:
        "Why there is no token: the code of the connection (`ECONNREFUSED`, `ENOTFOUND`, `CERT_HAS_EXPIRED`), `no answer`, " +
        "the OAuth error code (RFC 6749 section 5.2) where the answer has a well-formed one, or the field of a 200 that is not sound.",
      pauseMs: "How long no further request is made.",
    },
  },
  token_adopted: {
    levels: ["debug"],
    when: "A token is newly in use here.",
    fields: {
      environment,
      credential,
      issuedHere: "Whether it was issued to this process; otherwise it came from the shared cache.",
      reason,
      lifetimeMs: "Its whole life.",
      remainingMs: "What is left of it.",
    },
  },
  token_lapsed: {
    levels: ["info"],
    when: "A token has ended and is not renewed.",
    fields: { environment, credential },
  },
  token_used: { levels: ["trace"], when: "A token was attached to a request.", fields: { environment, credential } },
  credential_switched: {
    levels: ["warn"],
    when: "Another credential set of a site is in use.",
    fields: { environment, site, from: "The set that was in use.", to: "The set that is." },
  },
  credential_removed: {
    levels: ["info"],
    when: "A credential set is not configured any more.",
    fields: { environment, credential },
  },
  refresh_suppressed: {
    levels: ["warn"],
    when: "A 401 did not lead to a new token.",
    fields: {
      environment,
      credential,
      site,
      reason: "`paused`: the site's last new token was refused too. `limited`: too many refreshes have cured nothing.",
    },
  },
  token_cache_read: {
    levels: ["trace"],
    when: "A token was looked up.",
    fields: { tier: "`memory` or `redis`.", result: "`hit`, `miss`, `unreadable` or `error`." },
  },
  refresh_lock_tried: {
    levels: ["debug"],
    when: "The lock of a refresh was tried.",
    fields: { result: "`acquired`, `held` (by another replica) or `unavailable`." },
  },
  redis_failed: {
    levels: ["warn", "debug"],
    when: "A Redis command failed.",
    fields: { node, failure, isFirst },
  },
  redis_down: {
    levels: ["warn"],
    when: "A Redis server does not answer. It is not used until it answers again.",
    fields: { node, failure },
  },
  redis_up: {
    levels: ["info"],
    when: "A Redis server answers, for the first time or again.",
    fields: { node, awayMs: "How long it was away; absent the first time." },
  },
};
