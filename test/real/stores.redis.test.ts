/** Debian's Redis fails in each of its forms of operation, under orders and callbacks at three replicas at once. */
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { withoutCluster } from "../../testkit/acl.ts";
import { type RealRedis, startRedis } from "../../testkit/redis.ts";
import { startCluster, startSentinels, watched } from "../../testkit/redis-fleet.ts";
import { versionOf } from "../../testkit/run-program.ts";
import { accepts, startApplication } from "../../testkit/stage/callbacks.ts";
import { startCallbackPods } from "../fleet/redis/callback-pods.ts";
import { print } from "../fleet/redis/load.ts";
import { freshCallback, sendJson } from "../promises/callbacks/sender.ts";
import { tryWith } from "./try-with.ts";

const replicas = 3;
/** Pause between the starts of rounds: an order with a key, one without, and a callback. */
const everyMs = 40;
/** Age of writes that a failing master may not have replicated yet (docs/once.md). */
const unreplicatedMs = 1_000;
const patience = { timeout: 40_000 };

const expected = /^(order (200|409 already_sent|409 once_in_progress|503 once_unavailable)|callback (200|503))$/;

const becomes = (redis: RealRedis, role: RegExp) =>
  expect.poll(() => redis.command("INFO", "replication").then(String, String), patience).toMatch(role);
const master = /role:master/;
const follower = /role:slave[\s\S]*master_link_status:up/;
const addresses = (nodes: readonly RealRedis[]) => nodes.map(({ port }) => `"127.0.0.1:${port}"`).join(", ");

tryWith("Redis", versionOf(/v=([\d.]+)/, "redis-server", "--version"), () => {
  it("with Sentinels, a master hangs, is replaced and comes back, and the next one is killed: each order and callback arrives once", async () => {
    const { master: first, replica: second, sentinels } = await startSentinels(startRedis);
    const staged = await stage(`{ sentinel: { name: ${watched}, nodes: [ ${addresses(sentinels)} ] } }`);
    const traffic = startTraffic(staged);
    await traffic.more(50);
    await traffic.expectOnce("Sentinels", await hangAndKill(traffic, [first, second], [second, first]));
  });

  it("in a Cluster of six nodes, slots move, a master hangs and comes back, and another is killed: the same", async () => {
    const nodes = await startCluster(startRedis, { replicas: 3 });
    const [one, two, three, , standInOfTwo, standInOfThree] = nodes as Six;
    const staged = await stage(`{ cluster: { nodes: [ ${addresses(nodes)} ] } }`);
    const traffic = startTraffic(staged);
    await traffic.more(50);
    const endMove = await beginMoving(one, two, [three]);
    await traffic.more(100);
    await endMove();
    await traffic.expectOnce("Cluster", await hangAndKill(traffic, [three, standInOfThree], [two, standInOfTwo]));
  });

  it("a single server with `appendfsync always` hangs, and is then killed and started again: the same, with the documented user", async () => {
    const redis = await startRedis({ args: ["--appendonly", "yes", "--appendfsync", "always"] });
    await redis.command("ACL", ...withoutCluster);
    const staged = await stage(redis);
    const areUp = (count: number) => expect.poll(() => staged.fleet.sum("countersign_redis_up"), patience).toBe(count);
    const traffic = startTraffic(staged);
    await traffic.more(50);
    redis.stop();
    await areUp(0);
    await traffic.more(25);
    redis.cont();
    await areUp(replicas);
    await traffic.more(25);
    await redis.kill();
    await areUp(0);
    await redis.restart();
    await redis.command("ACL", ...withoutCluster);
    await areUp(replicas);
    await traffic.more(50);
    await traffic.expectOnce("One server", []);
  });
});

type Six = readonly [RealRedis, RealRedis, RealRedis, RealRedis, RealRedis, RealRedis];

/** Three processes of the built command with this Redis, in front of one application. Tokens are valid for ten seconds. */
async function stage(redis: RealRedis | string) {
  const application = await startApplication();
  const callbacks: Seen[] = [];
  application.answerWith((response, received) => {
    callbacks.push([JSON.parse(received.body.toString()).number, Date.now()]);
    setTimeout(() => accepts(response, received), 5);
  });
  const options = { redis, simulator: { tokenLifetimeSeconds: 10 }, more: "timeouts: { request: 3s }" };
  const { fleet, pods } = await startCallbackPods(replicas, application, options);
  return { fleet, callbacks, ports: pods.map(({ port }) => port) };
}

/** A received order or callback, and when it came. */
type Seen = readonly [name: string | undefined, atMs: number];

/** Sends each order with a key and each callback to two replicas at once, and repeats each until it has a final answer. */
function startTraffic({ fleet, callbacks, ports }: Awaited<ReturnType<typeof stage>>) {
  const told = new Map<string, number>();
  const jobs: Promise<unknown>[] = [];
  /** Orders whose callers must look for them: their keys were used, and it is unknown whether the orders were sent. */
  const unknown = new Set<string | undefined>();
  let sent = 0;
  let goesOn = true;
  const order = async (at: number, headers = {}, order_reference?: string) => {
    const body = { order_amount: 10, order_currency: "EUR", order_reference };
    const answer = await fleet.replicas[at % replicas]?.order(headers, body);
    const { code = "", first = {} } = answer?.json ?? {};
    if (first.outcome === "unknown") unknown.add(order_reference);
    return `order ${answer?.status} ${code}`.trim();
  };
  const callBack = async (at: number, callback: ReturnType<typeof freshCallback>) =>
    `callback ${(await sendJson(ports[at % replicas] ?? 0, callback)).status}`;
  const untilThrough = async (at: number, send: (at: number) => Promise<string>) => {
    for (let answer = "503"; /503|once_in_progress/.test(answer); ) {
      answer = await send(at);
      told.set(answer, (told.get(answer) ?? 0) + 1);
      at += 1;
      await pause(200);
    }
  };
  const loop = async () => {
    for (; goesOn; sent += 1) {
      const [key, callback] = [`order-${sent}`, freshCallback()];
      const once = (at: number) => order(at, { "Countersign-Once": key }, key);
      for (const at of [sent, sent + 1]) {
        jobs.push(
          untilThrough(at, once),
          untilThrough(at, (to) => callBack(to, callback)),
        );
      }
      jobs.push(order(sent).then((answer) => expect(answer, "without a key").toBe("order 200")));
      await pause(everyMs);
    }
  };
  const looped = loop();
  return {
    /** Resolves when this many more rounds have begun. */
    async more(count: number) {
      const wanted = sent + count;
      await expect.poll(() => sent, patience).toBeGreaterThanOrEqual(wanted);
    },
    /** Ends the traffic. Checks that nothing was lost, and that only writes just before the failure of a master came twice. */
    async expectOnce(what: string, failedAtMs: readonly number[]) {
      goesOn = false;
      await looped;
      const failures = (await Promise.allSettled(jobs)).filter(({ status }) => status === "rejected");
      expect(failures).toEqual([]);
      const orders = fleet.simulator.seen.apiRequests.map(({ body, receivedAtMs }): Seen => {
        return [JSON.parse(body.toString()).order_reference, receivedAtMs];
      });
      const [ordersTwice, callbacksTwice] = [orders, callbacks].map((seen) => {
        const times = timesOf(seen);
        const twice = [...times.values()].filter(({ length }) => length > 1);
        const isForgotten = ([atMs = 0]: readonly number[]) =>
          failedAtMs.some((failedMs) => Math.abs(failedMs - atMs) < unreplicatedMs);
        expect(twice.filter((all) => !isForgotten(all))).toEqual([]);
        return twice.length;
      }) as [number, number];
      const all = Array.from({ length: sent }, (_, index) => `order-${index}`);
      const created = timesOf(orders);
      expect(all.filter((key) => !created.has(key) && !unknown.has(key))).toEqual([]);
      expect(timesOf(callbacks).size).toBe(sent);
      expect([...told.keys()].filter((answer) => !expected.test(answer))).toEqual([]);
      expect(await fleet.sum("countersign_failures_total", { code: "token_unavailable" })).toBe(0);
      const unguarded = await fleet.sum("countersign_callbacks_unguarded_total");
      const tokens = fleet.simulator.counts().tokensIssued;
      const unsent = sent - created.size;
      print(what, {
        sent,
        unsent,
        unknown: unknown.size,
        ordersTwice,
        callbacksTwice,
        unguarded,
        tokens,
        ...Object.fromEntries(told),
      });
    },
  };
}

/** The times at which each was received; orders without a key have no name. */
function timesOf(seen: readonly Seen[]): ReadonlyMap<string, readonly number[]> {
  const times = new Map<string, number[]>();
  for (const [name, atMs] of seen) if (name !== undefined) times.set(name, [...(times.get(name) ?? []), atMs]);
  return times;
}

/** Begins to move the first slots; the returned function completes the move. */
async function beginMoving(from: RealRedis, to: RealRedis, others: readonly RealRedis[]) {
  const slots = Array.from({ length: 500 }, (_, slot) => slot);
  const [source, target] = [await from.command("CLUSTER", "MYID"), await to.command("CLUSTER", "MYID")].map(String);
  const set = (at: RealRedis, slot: number, ...state: string[]) => at.command("CLUSTER", "SETSLOT", slot, ...state);
  await Promise.all(slots.map((slot) => set(to, slot, "IMPORTING", `${source}`)));
  await Promise.all(slots.map((slot) => set(from, slot, "MIGRATING", `${target}`)));
  return async () => {
    for (const slot of slots) {
      const keys = (await from.command("CLUSTER", "GETKEYSINSLOT", slot, 1_000)) as string[];
      for (const key of keys) await from.command("MIGRATE", "127.0.0.1", to.port, key, 0, 1_000);
      for (const each of [to, from, ...others]) await set(each, slot, "NODE", `${target}`);
    }
  };
}

/** A master and the replica that replaces it. */
type Pair = readonly [master: RealRedis, standIn: RealRedis];

/**
 * A master hangs, is replaced and comes back; then another master is killed and replaced.
 * @returns when the masters failed
 */
async function hangAndKill(
  traffic: ReturnType<typeof startTraffic>,
  [hung, itsStandIn]: Pair,
  [killed, standIn]: Pair,
): Promise<readonly number[]> {
  const hungAtMs = Date.now();
  hung.stop();
  await becomes(itsStandIn, master);
  await traffic.more(25);
  hung.cont();
  await becomes(hung, follower);
  await traffic.more(50);
  const killedAtMs = Date.now();
  await killed.kill();
  await becomes(standIn, master);
  await traffic.more(50);
  return [hungAtMs, killedAtMs];
}
