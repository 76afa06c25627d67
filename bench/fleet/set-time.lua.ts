import { timeKey } from "./script-time.ts";

/**
 * Sets the time that scripts read, and lets keys live by it: Redis counts their days by the machine's clock, so each end is
 * moved by as much as the two clocks have drifted apart since the last time. What is left of an error is the time that the
 * command took that set the end.
 *
 * KEYS  the keys to move
 * ARGV  1 what this script returned last, or "" when Redis is empty, 2 the injected wall clock in ms
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
