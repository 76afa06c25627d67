/** Over processes and a real Redis: each revocation costs one token and no order, and so does one after an outage. */
import { setTimeout as pass } from "node:timers/promises";
import { expect, it } from "vitest";
import { startFleet } from "../../../testkit/fleet.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { startSentinels, watched } from "../../../testkit/redis-fleet.ts";
import { playFleet, tokensInUse, whenShared } from "./fleet-over-redis.ts";
import { print, startLoad } from "./load.ts";

const replicas = 4;

it("one revocation after the other: one token each, and no order gets a 401", async () => {
  const revocations = 6;
  await playFleet({ replicas }, async (fleet) => {
    const { simulator } = fleet;
    expect(await tokensInUse(fleet)).toEqual(Array(replicas).fill("token_1"));
    const load = startLoad(fleet.replicas, 4);
    await load.during(2_000);
    for (let n = 0; n < revocations; n++) {
      simulator.revokeAllTokens();
      await load.during(11_000);
      expect(simulator.counts().tokensIssued).toBe(2 + n);
    }
    const { failures, slowestMs } = await load.stop();
    print("orders through revocations", { slowestMs });
    expect(failures).toEqual([]);
  });
}, 240_000);

it("an outage of Redis in which each replica gets a token of its own, and a revocation at its end, three times", async () => {
  await playFleet({ replicas }, async (fleet, redis) => {
    const { simulator } = fleet;
    await tokensInUse(fleet);
    for (let round = 0; round < 3; round++) {
      await redis.kill();
      simulator.revokeAllTokens();
      await pass(1_100);
      expect(new Set(await tokensInUse(fleet)).size).toBe(replicas);
      await redis.restart();
      const sharedMs = await whenShared(fleet, redis, 10_000);
      await pass(3_000);
      expect(new Set(await tokensInUse(fleet)).size).toBe(1);
      const before = simulator.counts().tokensIssued;
      simulator.revokeAllTokens();
      await pass(1_100);
      expect(new Set(await tokensInUse(fleet)).size).toBe(1);
      print(`round ${round}`, { sharedMs, tokens: simulator.counts().tokensIssued - before });
      expect(simulator.counts().tokensIssued).toBe(before + 1);
    }
  });
}, 240_000);

it("a failover by Sentinels between two revocations, in which all is lost: no order gets a 401", async () => {
  const { master, sentinels } = await startSentinels(startRedis);
  const nodes = sentinels.map(({ port }) => `"127.0.0.1:${port}"`).join(", ");
  const { replicas: all, simulator } = await startFleet({
    redis: `{ sentinel: { name: ${watched}, nodes: [ ${nodes} ] } }`,
    replicas,
  });
  const load = startLoad(all, 4);
  await load.during(2_000);
  simulator.revokeAllTokens();
  await load.during(4_000);
  await master.kill();
  await Promise.all(all.map(({ event }) => event("redis_up", ({ awayMs }) => awayMs !== undefined)));
  for (let n = 0; n < 2; n++) {
    simulator.revokeAllTokens();
    await load.during(11_000);
  }
  expect((await load.stop()).failures).toEqual([]);
}, 240_000);
