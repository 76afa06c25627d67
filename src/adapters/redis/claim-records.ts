import { type ClaimRecords, NotWritten } from "../../claims/claim.ts";
import type { RedisConnection } from "./connection.ts";
import { isAnswer, kindOf } from "./failure.ts";
import { luaNow, redisKey } from "./scripts.ts";

/**
 * Replaces the expected value; again does nothing, since the answer to the first time may be lost. Times are by Redis's clock, since replicas' clocks may differ. A look-up without a change
 * works on a server that accepts no writes.
 *
 * KEYS  1 name
 * ARGV  1 expected value, or nothing, 2 content, or nothing to delete it, 3 `at` or nothing, 4 lease in ms, 5 lifetime in ms
 * Returns { 1 if it was replaced, the value now or nothing, Redis's clock in ms }.
 */
const swapScript = `${luaNow}
local found = redis.call('GET', KEYS[1]) or ''
if found ~= ARGV[1] then return { string.match(found, '^%d+ %d+ (.*)$') == ARGV[2] and 1 or 0, found, now } end
if ARGV[2] == '' then
  if found ~= '' then redis.call('DEL', KEYS[1]) end
  return { 1, '', now }
end
local at = ARGV[3] == '' and string.format('%.0f', now) or ARGV[3]
local value = at .. ' ' .. string.format('%.0f', now + ARGV[4]) .. ' ' .. ARGV[2]
redis.call('SET', KEYS[1], value, 'PX', ARGV[5])
return { 1, value, now }
`;

/** Claims that replicas share: a string for each. A server that is full, read-only or unreachable accepts none. */
export function createRedisClaimRecords(connection: Pick<RedisConnection, "run">): ClaimRecords {
  return {
    async swap({ kind, key, lifetimeMs }, expected, next) {
      const name = redisKey(key, kind);
      const times = next === undefined ? ["", 0] : [next.atMs ?? "", Math.ceil(next.leaseMs)];
      let sent = 0;
      const reply = await connection
        .run(name, (client) => {
          sent += 1;
          const args = [expected, next?.content ?? "", ...times, Math.ceil(lifetimeMs)];
          return client.eval(swapScript, 1, name, ...args);
        })
        .catch((error) => {
          // If it was sent twice, the second answer says nothing of the first time.
          throw sent === 0 || (sent === 1 && isAnswer(kindOf(error))) ? new NotWritten() : error;
        });
      const [isMade, line, nowMs]: readonly unknown[] = Array.isArray(reply) ? reply : [];
      if (typeof line === "string" && typeof nowMs === "number") return { isMade: isMade === 1, line, nowMs };
      throw new Error("Redis answered a claim in an unknown form");
    },
    rememberedSinceMs: () => Number.NEGATIVE_INFINITY,
  };
}
