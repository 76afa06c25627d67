import { conductInLua } from "./shared-limits.lua.ts";

/**
 * Saves a token, unless a newer one is there. "Newer" is by Redis's clock alone: the token was issued at TIME minus its
 * age, and the age is a duration, so no pod's wall clock plays a part.
 *
 * KEYS  1 token, 2 conduct (one hash tag)
 * ARGV  1 the sealed token, 2 its lifetime in ms, 3 its age in ms, less than the lifetime, 4 a value found here that
 *       nobody can open and that is to be overwritten, or "", 5 what TIME should say by the last reading, in ms, or ""
 * Returns { value, remaining ms }: what is in force now; nil when the command came too late to be true, because Redis or
 * the network stood still between its sending and now: the age is no longer the token's.
 *
 * The value is `1:<issued at, ms>:<sealed token>` and carries its remaining life as its TTL. A value without a TTL, from
 * the future, or not of this form is damaged, and overwritten. An authorization server's pause that is older than the token ends.
 */
export const saveLua = `${conductInLua}
local now = nowMs()
if isLate(now, ARGV[5]) then return false end
local issuedAt = now - tonumber(ARGV[3])
local known = redis.pcall('GET', KEYS[1])
if type(known) == 'string' and known ~= ARGV[4] then
  local knownAt = tonumber(string.match(known, '^1:(%d+):'))
  if knownAt and knownAt > issuedAt and knownAt <= now then
    local left = redis.call('PTTL', KEYS[1])
    if left > 0 then return { known, left } end
  end
end
local value = string.format('1:%.0f:%s', issuedAt, ARGV[1])
local left = tonumber(ARGV[2]) - tonumber(ARGV[3])
redis.call('SET', KEYS[1], value, 'PX', left)
local conduct = readConduct(KEYS[2], now)
if conduct.login and conduct.login.atMs <= issuedAt then
  conduct.login = nil
  writeConduct(KEYS[2], conduct, now)
end
return { value, left }
`;
