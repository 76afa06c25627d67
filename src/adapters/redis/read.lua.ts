/**
 * Reads everything that a refresh needs to know, in one command.
 *
 * KEYS  1 token, 2 conduct (one hash tag)
 * Returns { token value or nil, its remaining ms (-1: no TTL), conduct document or nil, Redis's clock in ms }. A key of
 * another type reads as `!`, which is no value of ours.
 */
export const readLua = `
local function get(key)
  local value = redis.pcall('GET', key)
  if type(value) == 'table' then return '!' end
  return value
end
local time = redis.call('TIME')
return { get(KEYS[1]), redis.call('PTTL', KEYS[1]), get(KEYS[2]), time[1] * 1000 + math.floor(time[2] / 1000) }
`;
