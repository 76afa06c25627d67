/** What waits for Redis is written before the process ends, and before a Redis is left for another one. */
import { expect, it } from "vitest";
import { sleep, systemClock } from "../../../src/model/clock.ts";
import { get } from "../../../testkit/call.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt } from "../../../testkit/redis-replica.ts";
import { accepted, keysIn } from "../../../testkit/stage/redis.ts";
import { stage } from "../../../testkit/stage.ts";

/** Redis refuses the result of the last order, and works again. */
async function stageUnrecorded() {
  const redis = await startRedis();
  const served = { isRefusing: false };
  const staged = await stage(
    "once",
    redis,
    async (_, socket) => {
      if (served.isRefusing) await redis.config("maxmemory", 1);
      socket.write(accepted);
    },
    { surroundings: { clock: systemClock }, timeouts: { requestMs: 1_000, tokenMs: 1_000 } },
  );
  await expect.poll(async () => (await staged.once("before")).status).toBe(200);
  served.isRefusing = true;
  expect((await staged.once("order-1")).status).toBe(200);
  await staged.recorder.nth("request_finished", 1, ({ once }) => once === "unrecorded");
  return { redis, ...staged };
}

/** Outcome and status of each key, or that it is still held. */
const results = async (redis: RealRedis) =>
  [...(await keysIn(redis)).values()].map((value) => (value.includes(" held ") ? "held" : value.split(" ")[5])).sort();

it("SIGTERM: a result that Redis had refused is recorded before the process ends", async () => {
  const { redis, proxy, url } = await stageUnrecorded();
  const stopped = proxy.stop("SIGTERM");
  // No request is open any more.
  const isClosed = () => get(url, "/").then(String, ({ code }) => code);
  await expect.poll(isClosed, { timeout: 5_000 }).toBe("ECONNREFUSED");
  expect(await results(redis)).toEqual(["answered", "held"]);
  await redis.config("maxmemory", 0);
  await stopped;
  expect(await results(redis)).toEqual(["answered", "answered"]);
});

it("a reload of `redis`: so it is, in the Redis that is left, as soon as that accepts it", async () => {
  const { redis, reload, config } = await stageUnrecorded();
  const { port } = await startRedis();
  await reload({ ...config, tokens: { cache: "redis", redis: accessTo(nodeAt(port)) } });
  // Late writes are tried each second until the former Redis is left, 3 s after the reload; then it has 2 s more.
  await sleep(systemClock, 3_200);
  expect(await results(redis)).toEqual(["answered", "held"]);
  await redis.config("maxmemory", 0);
  await expect.poll(() => results(redis), { timeout: 3_000 }).toEqual(["answered", "answered"]);
});
