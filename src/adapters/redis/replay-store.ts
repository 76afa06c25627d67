import type { Claim, ReplayStore } from "../../callbacks/replay-store.ts";
import type { RedisConnection } from "./connection.ts";
import { DeferredWrites } from "./deferred-writes.ts";
import { isAnswer, isFatal, kindOf } from "./failure.ts";
import { redisKey, runScript, script } from "./scripts.ts";

const held = "held ";
const taken = "taken ";
/** Of writes that failed, so many are kept until Redis is back. */
const mostKept = 4_096;

/**
 * Ends a claim, unless it is another's by now.
 *
 * KEYS  1 mark
 * ARGV  1 its value while this holder has it
 */
const releaseScript = script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`);

/**
 * Marks that replicas share: a string for each callback, `held <holder>` or `taken <receipt>`, whose TTL is the lease or the
 * lifetime. A server that is full takes no claim, which fails.
 */
export function createRedisReplayStore(connection: RedisConnection): ReplayStore {
  const nameOf = (key: string) => redisKey(key, "callback");
  // Each ends a claim of its own, or says what the application has taken. A command that was sent before Redis hung is carried
  // out before these.
  const writes = new DeferredWrites(connection, { most: mostKept, keeps });
  return {
    async claim(key, holder, leaseMs): Promise<Claim> {
      const name = nameOf(key);
      let isSent = false;
      try {
        const found = await connection.run(name, async (client) => {
          isSent = true;
          const isClaimed = await client.set(name, `${held}${holder}`, "PX", Math.ceil(leaseMs), "NX");
          return isClaimed === "OK" ? undefined : ((await client.get(name)) ?? held);
        });
        if (found === undefined) {
          // It is written to again, perhaps without having been away.
          void writes.resume();
          return { kind: "claimed" };
        }
        if (found.startsWith(taken)) return { kind: "taken", receipt: found.slice(taken.length) };
        return { kind: "in_delivery" };
      } catch (error) {
        if (isSent && !isAnswer(kindOf(error))) return { kind: "unknown" };
        throw error;
      }
    },
    confirm(key, receipt, lifetimeMs) {
      const name = nameOf(key);
      return writes.write({
        name,
        send: (client) => client.set(name, `${taken}${receipt}`, "PX", Math.ceil(lifetimeMs)),
      });
    },
    release(key, holder) {
      const name = nameOf(key);
      return writes.write({ name, send: (client) => runScript(client, releaseScript, [name], [`${held}${holder}`]) });
    },
  };
}

/** A server that has just become a replica says so by `readonly`; its successor is found soon. */
function keeps(error: unknown): boolean {
  const kind = kindOf(error);
  return isFatal(kind) || kind === "readonly";
}
