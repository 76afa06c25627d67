import { type ClaimRecords, NotWritten } from "../../claims/claim.ts";
import { type Clock, sleep } from "../../model/clock.ts";
import { isAnswer } from "../../model/redis-access.ts";
import type { RedisClient } from "./client.ts";
import type { RedisConnection } from "./connection.ts";
import { kindOf } from "./failure.ts";
import { LuaScript } from "./lua-script.ts";
import { luaNow, redisKey } from "./scripts.ts";

/**
 * Replaces the expected value; again writes the same, since the answer to the first time may be lost, and a WAIT on another
 * connection knows only what that has written. Times are by Redis's clock, since replicas' clocks may differ. A look-up without a change
 * works on a server that accepts no writes.
 *
 * KEYS  1 name
 * ARGV  1 expected value, or nothing, 2 content, or nothing to delete it, 3 `at` or nothing, 4 lease in ms, 5 lifetime in ms,
 *       6 when the sender gives up, in ms by this clock, or nothing: a claim that comes later is not made
 * Returns { 1 if it was replaced, -1 if it came too late, the value now or nothing, Redis's clock in ms }.
 */
const swapScript = new LuaScript(`${luaNow}
local found = redis.call('GET', KEYS[1]) or ''
if found ~= ARGV[1] then
  if string.match(found, '^%d+ %d+ (.*)$') ~= ARGV[2] then return { 0, found, now } end
  redis.call('SET', KEYS[1], found, 'KEEPTTL')
  return { 1, found, now }
end
if ARGV[6] ~= '' and now >= tonumber(ARGV[6]) then return { -1, found, now } end
if ARGV[2] == '' then
  if found ~= '' then redis.call('DEL', KEYS[1]) end
  return { 1, '', now }
end
local at = ARGV[3] == '' and string.format('%.0f', now) or ARGV[3]
local value = at .. ' ' .. string.format('%.0f', now + ARGV[4]) .. ' ' .. ARGV[2]
redis.call('SET', KEYS[1], value, 'PX', ARGV[5])
return { 1, value, now }
`);

/** The first may find out what time it is for Redis; the next may meet a clock that was set. */
const mostTries = 4;

/**
 * Claims that replicas share: a string for each. A server that is full, read-only or unreachable accepts none.
 * @param confirm fails if what the client wrote may be lost: claims of once keys then fail too, and are released
 */
export function createRedisClaimRecords(
  connection: Pick<RedisConnection, "run">,
  clock: Clock,
  confirm?: (client: RedisClient) => Promise<void>,
): ClaimRecords {
  const redisTime = new RedisTime(clock);

  /** @param call the same for all tries of one call: they reach the same server */
  async function swapOnce(
    call: object,
    name: string,
    { isClaim, isConfirmed }: { readonly isClaim: boolean; readonly isConfirmed: boolean },
    args: readonly (string | number)[],
  ) {
    let sent = 0;
    let isMade = false;
    let givenUpAtMs = 0;
    const reply = await connection
      .run(name, async (client, untilMs) => {
        sent += 1;
        givenUpAtMs = untilMs;
        const server = client.isCluster ? call : client;
        const sentAtMs = clock.nowMs();
        const untilThere = isClaim ? redisTime.at(server, untilMs) : "";
        const reply = await swapScript.run(client, [name], [...args, untilThere]);
        const [made, , nowMs]: readonly unknown[] = Array.isArray(reply) ? reply : [];
        if (typeof nowMs === "number") redisTime.learn(server, sentAtMs, nowMs);
        isMade = made === 1;
        if (isMade && isConfirmed) await confirm?.(client);
        return reply;
      })
      .catch(async (error) => {
        // If it was sent twice, the second answer says nothing of the first time.
        if (sent === 0 || (sent === 1 && !isMade && isAnswer(kindOf(error)))) throw new NotWritten();
        // From then on the claim is not made any more, so it can be released.
        if (isClaim) await sleep(clock, givenUpAtMs - clock.nowMs());
        throw error;
      });
    const [made, line, nowMs]: readonly unknown[] = Array.isArray(reply) ? reply : [];
    if (typeof line === "string" && typeof nowMs === "number") return { made, line, nowMs };
    throw new Error("Redis answered a claim in an unknown form");
  }

  return {
    async swap({ kind, key, lifetimeMs }, expected, next) {
      const times = next === undefined ? ["", 0] : [next.atMs ?? "", Math.ceil(next.leaseMs)];
      const args = [expected, next?.content ?? "", ...times, Math.ceil(lifetimeMs)];
      const call = {};
      const isClaim = next?.isClaim === true;
      const how = { isClaim, isConfirmed: isClaim && kind === "once" };
      for (let tries = 1; tries <= mostTries; tries += 1) {
        const { made, line, nowMs } = await swapOnce(call, redisKey(key, kind), how, args);
        if (made !== -1) return { isMade: made === 1, line, nowMs };
      }
      throw new Error("claims reach Redis too late");
    },
    rememberedSinceMs: () => Number.NEGATIVE_INFINITY,
  };
}

/** The clocks of servers, as their answers show them. In a Cluster each node has its own, so no call knows more than itself. */
class RedisTime {
  readonly #clock: Clock;
  /** A server's clock minus ours is at least this. */
  readonly #offsetsMs = new WeakMap<object, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The server's time at a moment of ours, or somewhat earlier; 0 before its first answer. */
  at(server: object, ms: number): number {
    const offsetMs = this.#offsetsMs.get(server);
    return offsetMs === undefined ? 0 : Math.floor(ms + offsetMs);
  }

  /** The server read its clock between these two moments: so what is known comes closer to the truth, also if a clock was set. */
  learn(server: object, sentAtMs: number, redisMs: number): void {
    const knownMs = this.#offsetsMs.get(server) ?? Number.NEGATIVE_INFINITY;
    this.#offsetsMs.set(server, Math.max(redisMs - this.#clock.nowMs(), Math.min(knownMs, redisMs - sentAtMs)));
  }
}
