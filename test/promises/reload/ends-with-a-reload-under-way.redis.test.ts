/** Row 50: a process that is told to end while a reload is under way keeps nothing of it. */
import { expect, it } from "vitest";
import { startRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt } from "../../../testkit/redis-replica.ts";
import { stageProxy } from "../../../testkit/stage.ts";

it("closes the Redis connections and pools that were prepared", async () => {
  const redis = await startRedis();
  const { proxy, config, reload } = await stageProxy();
  const timeouts = { ...config.timeouts, requestMs: 4_000 };
  const tokens = { cache: "redis", redis: accessTo(nodeAt(redis.port)) } as const;
  const clients = async () => String(await redis.command("CLIENT", "LIST")).match(/user=countersign/g)?.length ?? 0;
  const following = reload({ timeouts, tokens });
  await proxy.stop("SIGTERM");
  await following;
  await expect.poll(clients).toBe(0);
  await reload({ timeouts, tokens });
  expect(await clients()).toBe(0);
});
