/** A claim is not made after its sender has given up, by Redis's clock alone, whatever that clock does. */
import { expect, it } from "vitest";
import { createRedisClaimRecords } from "../../src/adapters/redis/claim-records.ts";
import type { RedisClient } from "../../src/adapters/redis/client.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

const limitMs = 100;

/** A server whose clock is ahead, and that each command reaches after `wayMs`. */
function stage({ isCluster = false } = {}) {
  const clock = new FakeClock();
  const server = { aheadMs: 5_000_000, wayMs: 0 };
  let commands = 0;
  const client = {
    isCluster,
    async evalsha(...given: (string | number)[]) {
      commands += 1;
      await clock.advance(server.wayMs);
      const nowMs = Math.floor(clock.nowMs()) + server.aheadMs;
      const latest = given.at(-1) ?? "";
      return [latest !== "" && nowMs >= Number(latest) ? -1 : 1, "", nowMs];
    },
  } as unknown as RedisClient;
  const records = createRedisClaimRecords({ run: (_, task) => task(client, clock.nowMs() + limitMs) }, clock);
  const terms = { kind: "once", key: "k", lifetimeMs: 60_000 } as const;
  const next = { atMs: undefined, leaseMs: 1_000, content: "content" };
  /** Undefined: it is refused. */
  const sent = async (isClaim = true) => {
    commands = 0;
    const swapped = await records.swap(terms, "", { ...next, isClaim }).catch(() => undefined);
    return swapped && commands;
  };
  return { server, sent };
}

it("asks a new server for its time with the first claim, and needs one command for each claim after it", async () => {
  const { sent } = stage();
  expect([await sent(), await sent(), await sent()]).toEqual([2, 1, 1]);
});

it("a claim on its way for longer than its sender waits is not made; a result is", async () => {
  const { server, sent } = stage();
  await sent();
  server.wayMs = limitMs;
  expect(await sent()).toBeUndefined();
  expect(await sent(false)).toBe(1);
  server.wayMs = limitMs / 2 - 1;
  expect(await sent()).toBe(1);
});

it.each([-3_600_000, 3_600_000])(
  "when the server's clock is set by %i ms, claims are still made, and in time",
  async (byMs) => {
    const { server, sent } = stage();
    await sent();
    server.aheadMs += byMs;
    expect(await sent()).toBe(byMs > 0 ? 2 : 1);
    expect(await sent()).toBe(1);
    server.wayMs = limitMs;
    expect(await sent()).toBeUndefined();
  },
);

it("asks again for each claim in a Cluster, whose nodes have clocks of their own", async () => {
  const { sent } = stage({ isCluster: true });
  expect([await sent(), await sent()]).toEqual([2, 2]);
});
