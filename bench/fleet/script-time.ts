import { createHash } from "node:crypto";

/** The Redis key of the time that scripts read, in ms. */
const timeKey = "fleet:time";

const askingRedis = "redis.call('TIME')";
/** TIME's answer, seconds and microseconds, from the injected clock. */
const askingTheFleet = `(function()
  local ms = tonumber(redis.call('GET', '${timeKey}'))
  return { math.floor(ms / 1000), (ms % 1000) * 1000 }
end)()`;

/**
 * The text of a script, or its digest, as it goes to Redis; other commands stay unchanged. Redis uses the machine's clock, and TIME cannot be
 * set. So scripts read another clock; their effect and the number of commands that run them stay the same.
 */
export function replaceTime(command: string, text: string): string {
  if (command === "evalsha") return replacedDigests.get(text) ?? text;
  if (command !== "eval") return text;
  const replaced = text.replaceAll(askingRedis, askingTheFleet);
  if (/\bTIME\b/.test(replaced)) throw new Error("this script asks Redis for the time in a way that is not known here");
  replacedDigests.set(digestOf(text), digestOf(replaced));
  return replaced;
}

/** By the digest of a script's own text, which was sent before. */
const replacedDigests = new Map<string, string>();

const digestOf = (text: string) => createHash("sha1").update(text).digest("hex");

/**
 * Sets the time that scripts read, and lets keys expire by it: Redis expires keys by the machine's clock, so each expiry is
 * moved by the drift between the two clocks since the last call. The remaining error is the duration of the command that
 * set the expiry.
 *
 * KEYS  the keys to move
 * ARGV  1 the last value that this script returned, or "" if Redis is empty, 2 the injected wall clock in ms
 * Returns how far Redis's own clock is ahead of the injected one, in ms.
 */
export const setTimeLua = `
local time = redis.call('TIME')
local ahead = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[2])
redis.call('SET', '${timeKey}', ARGV[2])
if ARGV[1] ~= '' then
  for _, key in ipairs(KEYS) do
    local left = redis.call('PTTL', key)
    if left >= 0 then redis.call('PEXPIRE', key, left + ahead - tonumber(ARGV[1])) end
  end
end
return ahead
`;
