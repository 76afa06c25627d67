import type { Redis } from "ioredis";
import type { RedisClient } from "./client.ts";
import { RedisFailure } from "./failure.ts";

/** A master looks at this limit when something happens there, or 100 ms later. */
const waitMs = 50;
/** One WAIT may be behind another. */
export const confirmedTaskMs = 500;

const unsent = new WeakMap<RedisClient, Promise<void>>();

/**
 * Resolves when a replica has what this connection has written (WAIT). The server reads nothing of the connection meanwhile,
 * so one WAIT serves all who ask in one turn.
 * @throws RedisFailure `noreplicas`
 */
export function confirmByReplica(client: RedisClient): Promise<void> {
  const shared = unsent.get(client) ?? Promise.resolve().then(() => waitFor(client));
  unsent.set(client, shared);
  return shared;
}

async function waitFor(client: RedisClient): Promise<void> {
  unsent.delete(client);
  // A Cluster is refused by the configuration: there WAIT would reach any node.
  if ((await (client as Redis).wait(1, waitMs)) < 1) throw new RedisFailure("noreplicas");
}
