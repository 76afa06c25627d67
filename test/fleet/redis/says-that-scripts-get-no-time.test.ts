/**
 * A server whose scripts get no time cannot be shared: reported of ElastiCache Serverless, which refuses TIME there, and of Dragonfly,
 * where it is 0. Log, metric, page and doctor say so, and no key is claimed by another clock.
 */
import { connect, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { checkRedis } from "../../../src/cli/doctor/redis.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { aclUser } from "../../../testkit/acl.ts";
import { get } from "../../../testkit/call.ts";
import { type Fleet, startFleet } from "../../../testkit/fleet.ts";
import { listen } from "../../../testkit/listen.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt } from "../../../testkit/redis-replica.ts";

const time = "redis.call('TIME')";

it.each([
  ["refuses TIME", "redis.call('EXEC')"],
  ["answers 0", "{0,0}"],
  ["answers 0 as text", "{'0','0'}"],
])("a server that %s in scripts", async (_, instead) => {
  const without = await startWithout(await startRedis(), instead);
  const checks = await doctor(without.port);
  expect(checks.filter(({ verdict }) => verdict === "fail")).toMatchObject([
    { detail: expect.stringMatching(/^its scripts get no time .*TIME/), fix: expect.stringContaining("docs/redis.md") },
  ]);
  const fleet = await startFleet({ redis: `{ url: "redis://127.0.0.1:${without.port}" }`, replicas: 2 });
  await expectUnusable(fleet, "no_clock");
  for (const { events } of fleet.replicas) {
    const [{ message }] = events("redis_down") as [{ message: string }];
    expect(message).toContain(
      `Redis refuses commands: redis://127.0.0.1:${without.port}: its scripts get no time (TIME refused, or 0)`,
    );
  }
  // Another server may have taken its place.
  without.heal();
  await expect.poll(() => fleet.sum("countersign_redis_up")).toBe(2);
  const [first] = fleet.replicas;
  expect((await first?.order({ "Countersign-Once": "order-1" }))?.status).toBe(200);
});

it("a user who may not use TIME", async () => {
  const redis = await startRedis();
  await redis.command("ACL", "SETUSER", aclUser.username, "-time");
  const fails = (await doctor(redis.port)).filter(({ verdict }) => verdict === "fail");
  expect(fails).toMatchObject([{ detail: "the user countersign may not TIME" }]);
  await expectUnusable(await startFleet({ redis, replicas: 2 }), "noperm");
});

it("masters of the lock need no time", async () => {
  const redis = await startRedis();
  const others = [await startWithout(await startRedis(), "{0,0}"), await startWithout(await startRedis(), "{0,0}")];
  const lockNodes = others.map(({ port }) => `"redis://127.0.0.1:${port}"`).join(", ");
  const fleet = await startFleet({ redis: `{ url: "${redis.url}", lockNodes: [ ${lockNodes} ] }`, replicas: 1 });
  await expect.poll(() => fleet.sum("countersign_redis_up")).toBe(3);
});

/** A server whose scripts run this instead of TIME. Undefined: TIME again. */
async function startWithout(redis: RealRedis, given: string) {
  let instead: string | undefined = given;
  const targets = new Set<Socket>();
  const server = createServer((caller) => {
    const target = connect(redis.port, "127.0.0.1");
    targets.add(target);
    caller.on("data", (bytes) => {
      const text = bytes.toString("latin1");
      target.write(text.replaceAll(time, (instead ?? time).padEnd(time.length)), "latin1");
    });
    caller.on("error", () => target.destroy()).on("close", () => target.destroy());
    target.on("error", () => caller.destroy()).pipe(caller);
  });
  onTestFinished(() => {
    for (const target of targets) target.destroy();
  });
  return {
    port: await listen(server),
    heal() {
      instead = undefined;
    },
  };
}

async function doctor(port: number) {
  const config = { tokens: { cache: "redis", redis: accessTo(nodeAt(port)) }, callbacks: [] };
  return checkRedis({ config, clock: systemClock } as never, ["a"]);
}

/** Nothing is told to be well, each replica has its own token, and no request with a key is sent. */
async function expectUnusable(fleet: Fleet, failure: string) {
  expect(await fleet.sum("countersign_redis_up")).toBe(0);
  for (const { events, order, statusUrl } of fleet.replicas) {
    expect(events("redis_up")).toEqual([]);
    expect(events("redis_down")).toMatchObject([{ failure }]);
    expect((await order()).status).toBe(200);
    expect(await order({ "Countersign-Once": "order-1" })).toMatchObject({
      status: 503,
      json: { code: "once_unavailable" },
    });
    expect((await get(statusUrl, "/status")).json.redis).toMatchObject([{ node: "cache", failure }]);
  }
  expect(fleet.simulator.counts().tokensIssued).toBe(fleet.replicas.length);
  expect(fleet.simulator.seen.apiRequests).toHaveLength(fleet.replicas.length);
  expect(await fleet.sum("countersign_redis_errors_total", { kind: failure })).toBeGreaterThan(0);
  expect(await fleet.sum("countersign_redis_errors_total", { kind: "other" })).toBe(0);
}
