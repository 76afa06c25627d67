import { vi } from "vitest";
import { freePort } from "./free-port.ts";
import type { RedisOptions, RedisServer } from "./redis.ts";

/** Starts one server: `startRedis` a process that a test can stop and kill, `openServer` a container where Docker is. */
export type Starter<S extends RedisServer> = (options?: RedisOptions) => Promise<S>;

const patience = { timeout: 20_000, interval: 25 };
const slots = 16_384;

/** A master and its replica, once the replica has connected to the master. */
export async function startReplicated<S extends RedisServer>(start: Starter<S>) {
  const master = await start();
  const replica = await start({ args: ["--replicaof", `127.0.0.1 ${master.port}`] });
  await untilEach([replica], "INFO replication", /master_link_status:up/);
  return { master, replica };
}

/** Name of the master that the Sentinels watch. */
export const watched = "main";

/** A master with a replica, and three Sentinels that believe the master dead after half a second. */
export async function startSentinels<S extends RedisServer>(start: Starter<S>) {
  const { master, replica } = await startReplicated(start);
  const lines = [
    `sentinel monitor ${watched} 127.0.0.1 ${master.port} 2`,
    `sentinel down-after-milliseconds ${watched} 500`,
    `sentinel failover-timeout ${watched} 3000`,
  ];
  const sentinels = await Promise.all([1, 2, 3].map(() => start({ sentinel: lines })));
  await untilEach(sentinels, "INFO sentinel", /status=ok.*slaves=1,sentinels=3/);
  return { master, replica, sentinels };
}

const masters = 3;

/** Three masters in cluster mode with a third of the slots each; after them the replicas, if requested, in the order of their masters. */
export async function startCluster<S extends RedisServer>(
  start: Starter<S>,
  { replicas = 0 } = {},
): Promise<readonly S[]> {
  const busPorts = await Promise.all(Array.from({ length: masters + replicas }, freePort));
  const nodes = await Promise.all(
    busPorts.map((port) =>
      start({
        args: ["--cluster-enabled", "yes", "--cluster-port", String(port), "--cluster-node-timeout", "1000"],
      }),
    ),
  );
  const share = Math.ceil(slots / masters);
  for (const [index, node] of nodes.entries()) {
    const last = Math.min(slots, (index + 1) * share) - 1;
    if (index < masters) await node.command("CLUSTER", "ADDSLOTSRANGE", index * share, last);
    for (const [other, { port }] of nodes.entries()) {
      if (other !== index) await node.command("CLUSTER", "MEET", "127.0.0.1", port, busPorts[other] ?? 0);
    }
  }
  await untilEach(nodes, "CLUSTER INFO", new RegExp(`cluster_state:ok[\\s\\S]*cluster_known_nodes:${nodes.length}\\b`));
  for (const [index, replica] of nodes.slice(masters).entries()) {
    await replica.command("CLUSTER", "REPLICATE", String(await nodes[index % masters]?.command("CLUSTER", "MYID")));
  }
  await untilEach(nodes.slice(masters), "INFO replication", /master_link_status:up/);
  return nodes;
}

/** Resolves when the answer of each node to the command matches. */
async function untilEach(nodes: readonly RedisServer[], command: string, wanted: RegExp): Promise<void> {
  const [name = "", ...args] = command.split(" ");
  await vi.waitFor(async () => {
    for (const node of nodes) {
      const info = String(await node.command(name, ...args));
      if (!wanted.test(info)) throw new Error(info);
    }
  }, patience);
}

/** Three independent masters, for the refresh lock. */
export function startMasters<S extends RedisServer>(start: Starter<S>): Promise<readonly [S, S, S]> {
  return Promise.all([start(), start(), start()]);
}
