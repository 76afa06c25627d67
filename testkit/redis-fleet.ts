import { vi } from "vitest";
import { freePort } from "./free-port.ts";
import { type RealRedis, type RedisOptions, startRedis } from "./redis.ts";

/** Starts one server, and sees to its end. */
export type Starter = (options?: RedisOptions) => Promise<RealRedis>;

const patience = { timeout: 20_000, interval: 25 };
const slots = 16_384;

/** A master and its replica, in step. */
export async function startReplicated(start: Starter = startRedis) {
  const master = await start();
  const replica = await start({ args: ["--replicaof", `127.0.0.1 ${master.port}`] });
  await vi.waitFor(async () => {
    const info = String(await replica.command("INFO", "replication"));
    if (!info.includes("master_link_status:up")) throw new Error("the replica is not in step");
  }, patience);
  return {
    master,
    replica,
    async promote(): Promise<void> {
      await replica.command("REPLICAOF", "NO", "ONE");
    },
  };
}

/** Name of the master that the Sentinels watch. */
export const watched = "main";

/** A master with a replica, and three Sentinels that take half a second to believe it dead. */
export async function startSentinels(start: Starter = startRedis) {
  const { master, replica } = await startReplicated(start);
  const lines = [
    `sentinel monitor ${watched} 127.0.0.1 ${master.port} 2`,
    `sentinel down-after-milliseconds ${watched} 500`,
    `sentinel failover-timeout ${watched} 3000`,
  ];
  const sentinels = await Promise.all([1, 2, 3].map(() => start({ sentinel: lines })));
  await vi.waitFor(async () => {
    for (const sentinel of sentinels) {
      const info = String(await sentinel.command("INFO", "sentinel"));
      if (!/status=ok.*slaves=1,sentinels=3/.test(info)) throw new Error("the Sentinels do not know each other");
    }
  }, patience);
  return { master, replica, sentinels };
}

/** Three masters in cluster mode with a third of the slots each. */
export async function startCluster(start: Starter = startRedis): Promise<readonly RealRedis[]> {
  const busPorts = [await freePort(), await freePort(), await freePort()];
  const nodes = await Promise.all(
    busPorts.map((port) =>
      start({
        args: ["--cluster-enabled", "yes", "--cluster-port", String(port), "--cluster-node-timeout", "1000"],
      }),
    ),
  );
  const share = Math.ceil(slots / nodes.length);
  for (const [index, node] of nodes.entries()) {
    const last = Math.min(slots, (index + 1) * share) - 1;
    await node.command("CLUSTER", "ADDSLOTSRANGE", index * share, last);
    for (const [other, { port }] of nodes.entries()) {
      if (other !== index) await node.command("CLUSTER", "MEET", "127.0.0.1", port, busPorts[other] ?? 0);
    }
  }
  await vi.waitFor(async () => {
    for (const node of nodes) {
      const info = String(await node.command("CLUSTER", "INFO"));
      if (!/cluster_state:ok/.test(info) || !/cluster_known_nodes:3/.test(info)) throw new Error("no cluster yet");
    }
  }, patience);
  return nodes;
}

/** Independent masters, for the lock. */
export function startMasters(count: number, start: Starter = startRedis): Promise<readonly RealRedis[]> {
  return Promise.all(Array.from({ length: count }, () => start()));
}
