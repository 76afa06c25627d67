import type { Claim, ReplayStore } from "../../callbacks/replay-store.ts";
import type { RedisConnection } from "./connection.ts";
import { redisKey, runScript, script } from "./scripts.ts";

const held = "held ";
const taken = "taken ";

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
  return {
    async claim(key, holder, leaseMs): Promise<Claim> {
      const name = nameOf(key);
      const found = await connection.run(name, async (client) => {
        const isClaimed = await client.set(name, `${held}${holder}`, "PX", Math.ceil(leaseMs), "NX");
        return isClaimed === "OK" ? undefined : ((await client.get(name)) ?? held);
      });
      if (found === undefined) return { kind: "claimed" };
      return found.startsWith(taken) ? { kind: "taken", receipt: found.slice(taken.length) } : { kind: "in_delivery" };
    },
    async confirm(key, receipt, lifetimeMs) {
      const name = nameOf(key);
      await connection.run(name, (client) => client.set(name, `${taken}${receipt}`, "PX", Math.ceil(lifetimeMs)));
    },
    async release(key, holder) {
      const name = nameOf(key);
      await connection.run(name, (client) => runScript(client, releaseScript, [name], [`${held}${holder}`]));
    },
  };
}
