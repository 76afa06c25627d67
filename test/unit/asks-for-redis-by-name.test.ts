/** A test file that needs a Redis says so in its path, so that machines without Redis leave it out. */
import { expect, it } from "vitest";
import { startRedis } from "../../testkit/redis.ts";
import { commonRedis } from "../../testkit/redis-replica.ts";

const sentence = "asks-for-redis-by-name.test.ts asks for a Redis: rename it to asks-for-redis-by-name.redis.test.ts";

it.each([
  ["starts one", startRedis],
  ["uses the common one", async () => commonRedis()],
] as const)("a file without that name fails that %s", async (_, ask) => {
  await expect(ask()).rejects.toThrow(sentence);
});
