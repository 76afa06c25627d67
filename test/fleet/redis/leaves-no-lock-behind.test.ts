/** A process that is told to end during a refresh gives the lock back, and ends though Redis hangs. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { startFleet } from "../../../testkit/fleet.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { heldLock } from "./held-lock.ts";

async function startOne(authUrl?: string) {
  const redis = await startRedis();
  const redisConfig = `{ url: "${redis.url}" }`;
  const fleet = await startFleet({ redis: redisConfig, replicas: 1, ...(authUrl !== undefined && { authUrl }) });
  const [replica] = fleet.replicas;
  if (replica === undefined) throw new Error("one replica");
  return { redis, replica };
}

it("gives the lock back when it ends during a refresh", async () => {
  const login = createServer(() => {}).listen(0, "127.0.0.1");
  await once(login, "listening");
  onTestFinished(() => {
    login.closeAllConnections();
    login.close();
  });
  const asked = once(login, "request");
  const { redis, replica } = await startOne(`http://127.0.0.1:${(login.address() as AddressInfo).port}`);
  await asked;
  expect(await heldLock(redis)).toBeDefined();
  replica.signal("SIGTERM");
  expect(await replica.ended).toBe(0);
  expect(await heldLock(redis)).toBeUndefined();
}, 60_000);

it("ends at once though Redis hangs", async () => {
  const { redis, replica } = await startOne();
  await replica.order();
  redis.stop();
  const sinceMs = performance.now();
  replica.signal("SIGTERM");
  expect(await replica.ended).toBe(0);
  expect(performance.now() - sinceMs).toBeLessThan(10_000);
  redis.cont();
}, 60_000);
