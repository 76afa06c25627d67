/** Row 50: a process that is told to end while a reload is under way keeps nothing of it. */
import { expect, it } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt } from "../../../testkit/redis-replica.ts";
import { stageProxy } from "../../../testkit/stage.ts";

it("closes the Redis connections and pools that were prepared", async () => {
  const redis = await startRedis();
  const { proxy, config } = await stageProxy();
  const next: Config = {
    ...config,
    timeouts: { ...config.timeouts, requestMs: 4_000 },
    tokens: { cache: "redis", redis: accessTo(nodeAt(redis.port)) },
    hash: "ba9876543210",
  };
  const clients = async () => String(await redis.command("CLIENT", "LIST")).match(/user=countersign/g)?.length ?? 0;
  const following = proxy.apply(next, "sighup");
  await proxy.stop("SIGTERM");
  await following;
  await expect.poll(clients).toBe(0);
  await proxy.apply({ ...next, hash: "cba987654321" }, "sighup");
  expect(await clients()).toBe(0);
});
