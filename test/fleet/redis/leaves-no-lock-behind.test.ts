/** A process that is told to end during a refresh gives the lock back, and ends though Redis hangs. */
import { once } from "node:events";
import { createServer } from "node:http";
import { expect, it } from "vitest";
import { startFleet } from "../../../testkit/fleet.ts";
import { listen } from "../../../testkit/listen.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { heldLock } from "./fleet-over-redis.ts";

async function startOne(authUrl?: string) {
  const redis = await startRedis();
  const redisConfig = `{ url: "${redis.url}" }`;
  const fleet = await startFleet({ redis: redisConfig, replicas: 1, ...(authUrl !== undefined && { authUrl }) });
  const [replica = expect.unreachable()] = fleet.replicas;
  return { redis, replica };
}

it("gives the lock back when it ends during a refresh", async () => {
  const login = createServer(() => {});
  const port = await listen(login);
  const asked = once(login, "request");
  const { redis, replica } = await startOne(`http://127.0.0.1:${port}`);
  await asked;
  expect(await heldLock(redis)).toBeDefined();
  replica.signal("SIGTERM");
  expect(await replica.ended).toBe(0);
  expect(await heldLock(redis)).toBeUndefined();
});

it("ends at once though Redis hangs", async () => {
  const { redis, replica } = await startOne();
  await replica.order();
  redis.stop();
  const sinceMs = performance.now();
  replica.signal("SIGTERM");
  expect(await replica.ended).toBe(0);
  expect(performance.now() - sinceMs).toBeLessThan(10_000);
  redis.cont();
});
