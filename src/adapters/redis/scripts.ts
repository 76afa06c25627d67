import {
  type EndpointPause,
  endpointPauseKinds,
  endpointPauseMemoryMs,
  type ForcedCount,
  type ForcedRefreshes,
  forcedRefreshMemoryMs,
} from "../../oauth/token-store.ts";
import { LuaScript } from "./lua-script.ts";

/**
 * A key in Redis. A credential set's keys share one hash tag, so that a Cluster keeps them on one node and scripts may use
 * them together. Change the number with the meaning of any key or value, so that two versions never read each other's.
 */
export function redisKey(cacheKey: string, end: string): string {
  return `countersign:2:{${cacheKey}}:${end}`;
}

export function redisKeys(cacheKey: string) {
  const name = (end: string) => redisKey(cacheKey, end);
  return {
    /** String: `1:<issued at>:<sealed token>`. */
    token: name("token"),
    /** String, by Redlock. */
    lock: name("lock"),
    /** String: see `formatEndpointPause`. Its age is its duration minus the rest of it. */
    endpoint: name("endpoint"),
    /** String: `<useless in a row> <spent ms>`. Its age is `forcedRefreshMemoryMs` minus its remaining time. */
    forced: (site: string) => name(`forced:${site}`),
  };
}

/** The key with another end beside this key: in a Cluster both are on one node. */
export function besideKey(key: string, end: string): string {
  return key.replace(/[^}]*$/, `:${end}`);
}

/** How far in the future a recorded moment may seem, since clocks are corrected. */
export const aheadMs = 1_000;

/** `now`: Redis's clock in ms. Some servers refuse TIME in a script, and in Dragonfly's it is 0. */
export const luaNow = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now == 0 then return redis.error_reply('NOCLOCK it stands at 0') end
`;

/** Does what the refresh lock does, on a key that it deletes. */
export const lockTrialScript = `
redis.call('SET', KEYS[1], 'trial', 'PX', 1000)
redis.call('PTTL', KEYS[1])
redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1])
return 1
`;

/** Does what all scripts do. */
export const trialScript = `${luaNow}${lockTrialScript}`;

const prelude = `${luaNow}
-- Whether Redis or the network stood still after the command was sent: its sender has long given up.
local function isLate(expected)
  return expected ~= '' and now - tonumber(expected) > ${aheadMs}
end

-- The rest of the endpoint's pause, and its age, in ms. A damaged pause, or one of another clock, is over and old.
local function readEndpoint(key)
  local value = redis.pcall('GET', key)
  local whole = type(value) == 'string' and tonumber(string.match(value, ' (%d+)$'))
  local kept = whole and redis.call('PTTL', key) or 0
  local left = kept - ${endpointPauseMemoryMs}
  if kept > 0 and left <= whole + ${aheadMs} then return left, whole - left end
  return 0, math.huge
end
`;

/**
 * Reads everything that a refresh needs.
 *
 * KEYS  1 token, 2 endpoint, any further keys
 * Returns { Redis's clock in ms, then for each key its value or nil, and its remaining ms (-1: no TTL) }. An unreadable value
 * is replaced by its error.
 */
export const readScript = new LuaScript(`${prelude}
local reply = { now }
for i, key in ipairs(KEYS) do
  reply[2 * i] = redis.pcall('GET', key)
  reply[2 * i + 1] = redis.call('PTTL', key)
end
return reply
`);

/**
 * Saves a token, unless there is a newer one. "Newer" is by Redis's clock alone: the token was issued at TIME minus its age,
 * and the age is a duration, so no pod's wall clock plays a part.
 *
 * KEYS  1 token, 2 endpoint
 * ARGV  1 the expected TIME by the last reading, in ms, or "", 2 the sealed token, 3 its lifetime in ms, 4 its age in
 *       ms, less than the lifetime, 5 a value found here that cannot be opened and is to be overwritten, or ""
 * Returns { value, remaining ms } of the newest token; nil if the command came too late, because Redis or the network
 * stood still after it was sent: the age is no longer right.
 *
 * The value's TTL is its remaining life. A value without a TTL, from the future, or not of its form is damaged, and
 * overwritten. A pause of the endpoint that is older than the token ends.
 */
export const saveScript = new LuaScript(`${prelude}
if isLate(ARGV[1]) then return false end
local age = tonumber(ARGV[4])
local issuedAt = now - age
local known = redis.pcall('GET', KEYS[1])
if type(known) == 'string' and known ~= ARGV[5] then
  local knownAt = tonumber(string.match(known, '^1:(%d+):'))
  if knownAt and knownAt > issuedAt and knownAt <= now then
    local left = redis.call('PTTL', KEYS[1])
    if left > 0 then return { known, left } end
  end
end
local value = string.format('1:%.0f:%s', issuedAt, ARGV[2])
local left = tonumber(ARGV[3]) - age
redis.call('SET', KEYS[1], value, 'PX', left)
local _, pauseAge = readEndpoint(KEYS[2])
if pauseAge >= age then redis.call('DEL', KEYS[2]) end
return { value, left }
`);

/**
 * Sets the endpoint's pause, unless there is a longer one.
 *
 * KEYS  1 endpoint
 * ARGV  1 as in save, 2 the pause, 3 its remaining ms
 */
export const pauseScript = new LuaScript(`${prelude}
if isLate(ARGV[1]) then return 0 end
local left = readEndpoint(KEYS[1])
if left < tonumber(ARGV[3]) then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3] + ${endpointPauseMemoryMs}) end
return 1
`);

/**
 * Sets counts of forced refreshes.
 *
 * KEYS  one for each count
 * ARGV  1 as in save, further ones: the counts
 */
export const forcedScript = new LuaScript(`${prelude}
if isLate(ARGV[1]) then return 0 end
for i, key in ipairs(KEYS) do redis.call('SET', key, ARGV[i + 1], 'PX', ${forcedRefreshMemoryMs}) end
return 1
`);

/** A longer Retry-After of an authorization server is cut to this (spec 8). */
const longestPauseMs = 86_400_000;
const mostFailures = 64;
/** A planted count blocks a site for this long at most. */
const mostSpentMs = 2 * forcedRefreshMemoryMs;

/** `<kind> <status> <failures> <whole duration in ms>`. */
const endpointForm = new RegExp(`^(${endpointPauseKinds.join("|")}) ([1-5]\\d\\d) (\\d{1,15}) (\\d{1,15})$`);
/** `<useless in a row> <spent ms>`. */
const forcedForm = /^(\d{1,4}) (\d{1,9})$/;

/** @param ms the whole duration, an integer */
export function formatEndpointPause({ kind, status, failures }: EndpointPause, ms: number): string {
  return `${kind} ${status} ${failures} ${ms}`;
}

/**
 * Reads the endpoint's pause, strictly and within bounds; undefined if it is damaged, or of another clock.
 * @param keptMs the remaining time of the key: the rest of the pause, and `endpointPauseMemoryMs`
 */
export function parseEndpoint(text: unknown, keptMs: unknown): EndpointPause | undefined {
  const [, name, status, failures, whole] = typeof text === "string" ? (endpointForm.exec(text) ?? []) : [];
  const kind = endpointPauseKinds.find((known) => known === name);
  if (kind === undefined || typeof keptMs !== "number" || keptMs <= 0) return undefined;
  const leftMs = keptMs - endpointPauseMemoryMs;
  // More is left than the whole: Redis's clock has stepped back, or this is another server.
  if (leftMs > Number(whole) + aheadMs) return undefined;
  return {
    kind,
    status: Number(status),
    failures: Math.min(Number(failures), mostFailures),
    remainingMs: Math.min(Math.max(0, leftMs), Number(whole), longestPauseMs),
  };
}

export function formatForced({ useless, spentMs }: ForcedCount): string {
  return `${useless} ${Math.ceil(spentMs)}`;
}

/**
 * Reads a count of forced refreshes in the same way.
 * @param keptMs the remaining time of the key
 */
export function parseForced(text: unknown, keptMs: unknown): ForcedRefreshes | undefined {
  const [, useless, spent] = typeof text === "string" ? (forcedForm.exec(text) ?? []) : [];
  if (useless === undefined) return undefined;
  if (typeof keptMs !== "number" || keptMs <= 0 || keptMs > forcedRefreshMemoryMs + aheadMs) return undefined;
  const ageMs = Math.max(0, forcedRefreshMemoryMs - keptMs);
  return { useless: Number(useless), spentMs: Math.min(Number(spent), mostSpentMs), ageMs };
}
