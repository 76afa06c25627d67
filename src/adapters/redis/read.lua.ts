/**
 * Reads everything that a refresh needs to know, in one command.
 *
 * KEYS  1 token, 2 conduct (one hash tag)
 * Returns { token value or nil, its remaining ms (-1: no TTL), conduct document or nil, Redis's clock in ms }. In place of a
 * value that cannot be read (a key of another type) stands the error.
 */
export const readLua = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
return { redis.pcall('GET', KEYS[1]), redis.call('PTTL', KEYS[1]), redis.pcall('GET', KEYS[2]), nowMs }
`;
