/**
 * A value in Redis is valid no longer than its writer can have intended, and blocks no new value, even if a hung Redis carries a
 * command out long after its sender gave up. A lasting failure is reported once, and unused keys leave nothing in the process.
 */
import { randomBytes } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { redisKeys } from "../../../src/adapters/redis/scripts.ts";
import { sealToken } from "../../../src/adapters/redis/token-store.ts";
import { type Clock, sleep, systemClock } from "../../../src/model/clock.ts";
import { EndpointBackoff } from "../../../src/oauth/endpoint-backoff.ts";
import { startFaultProxy } from "../../../testkit/fault-proxy.ts";
import { issued } from "../../../testkit/issued-token.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { openReplica, patientClock, sealKey } from "../../../testkit/redis-replica.ts";

const key = "ab".repeat(32);
const hourMs = 3_600_000;
const names = redisKeys(key);

/** Reads nothing more before a task runs: a pause of this process delays Redis's answers too, and must not make a late one count. */
const sternClock: Clock = {
  ...systemClock,
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs).unref();
    return () => clearTimeout(timer);
  },
};

const counts = (useless: number) => new Map([["S1", { useless, spentMs: 0 }]]);
const throttled = (remainingMs: number) => ({ kind: "throttled", status: 429, failures: 1, remainingMs }) as const;
/** The commands of a refusal that was written when the server's clock was an hour ahead. */
const refusedThen = () => [["SET", names.endpoint, "refused 401 0 10000", "PX", String(hourMs + 70_000)]];
const forcedThen = () => [["SET", names.forced("S1"), "9 0", "PX", String(2 * hourMs)]];

describe("after values were written when the clock was ahead:", () => {
  it("a token that seems to come from the future is not used", async () => {
    const { redis, store } = await stage();
    const sealed = sealToken([sealKey()], names.token, issued("dead", hourMs));
    await redis.command("SET", names.token, `1:${Date.now() + 600_000}:${sealed}`, "PX", hourMs + 600_000);
    expect((await store.read(key)).token).toBeUndefined();
  });

  it("a pause of 10 s for refused credentials lasts no longer", async () => {
    const { limitsNow } = await stage(refusedThen());
    expect((await limitsNow())?.endpoint?.remainingMs ?? 0).toBeLessThanOrEqual(10_000);
  });

  it("useless refreshes are not counted, and new ones replace them", async () => {
    const { store, limitsNow } = await stage(forcedThen());
    expect((await limitsNow())?.forced.size).toBe(0);
    await store.countForced(key, counts(4));
    expect((await limitsNow())?.forced.get("S1")?.useless).toBe(4);
  });

  it("a new 429 replaces an old pause", async () => {
    const { store, limitsNow } = await stage(refusedThen());
    await store.pause(key, throttled(60_000));
    expect((await limitsNow())?.endpoint?.kind).toBe("throttled");
  });

  it("a number of 400 digits breaks no event", async () => {
    const { store, recorder, limitsNow } = await stage([
      ["SET", names.endpoint, `refused 401 0 ${"9".repeat(400)}`, "PX", "10000"],
      ["SET", names.forced("S1"), "9".repeat(400), "PX", "10000"],
    ]);
    expect(await limitsNow()).toEqual({ endpoint: undefined, forced: new Map() });
    await store.countForced(key, counts(4));
    await store.pause(key, throttled(60_000));
    expect(recorder.of("redis_failed")).toEqual([]);
    expect((await limitsNow())?.forced.get("S1")?.useless).toBe(4);
  });
});

it("an endpoint's pause in another form ends with the next token", async () => {
  const { redis, store } = await stage([["SET", names.endpoint, "for ever", "PX", String(hourMs)]]);
  await store.save(key, issued("t1", hourMs), 0);
  expect(await redis.command("EXISTS", names.endpoint)).toBe(0);
});

it("a refusal with fractions of milliseconds reaches the others", async () => {
  const { store, recorder, limitsNow } = await stage();
  const backoff = new EndpointBackoff(systemClock, Math.random);
  backoff.onAnswer({ kind: "refused", status: 401 });
  await store.pause(key, backoff.toShared() ?? expect.unreachable());
  expect(recorder.of("redis_failed")).toEqual([]);
  expect((await limitsNow())?.endpoint?.kind).toBe("refused");
});

describe("a failure that lasts", () => {
  it("is reported once even if other commands succeed meanwhile: no memory left", async () => {
    const { redis, store, recorder } = await stage();
    await store.read(key);
    await redis.config("maxmemory", "1");
    for (let n = 0; n < 10; n++) {
      await store.read(key);
      await store.countForced(key, counts(n));
    }
    expect(recorder.of("redis_failed").filter(({ isFirst }) => isFirst)).toMatchObject([{ failure: "oom" }]);
  });

  it("is reported once: a Redis that always answers in 130 ms, when a command has 100; its recovery is also reported once", async () => {
    const network = await startFaultProxy((await startRedis()).url);
    const { store, recorder } = openReplica(network, sternClock);
    const said = () => recorder.events.map(({ kind }) => kind).filter((kind) => /^redis_(up|down)$/.test(kind));
    await store.read(key);
    network.toCaller.become({ latencyMs: 130 });
    // Probes are a second apart.
    const untilMs = systemClock.nowMs() + 8_000;
    while (systemClock.nowMs() < untilMs) {
      await store.read(key);
      await sleep(systemClock, 50);
    }
    expect(said()).toEqual(["redis_up", "redis_down"]);
    network.heal();
    await recorder.nth("redis_up", 2);
    expect(said()).toEqual(["redis_up", "redis_down", "redis_up"]);
  });
});

const refused = { kind: "refused", status: 401, failures: 0, remainingMs: 2_000 } as const;

/** Two replicas, and a Redis that hangs when the first one sends a command, for longer than the command's value may be valid. */
async function stageHung(send: (replica: ReturnType<typeof openReplica>) => Promise<unknown>) {
  const redis = await startRedis();
  const [late, other] = [openReplica(redis), openReplica(redis, patientClock)];
  await Promise.all([late.store.read(key), other.store.read(key)]);
  // Redis now knows the scripts, so that each command is sent once.
  await late.store.save(key, issued("warm-up", 1_000), 0);
  await late.store.countForced(key, counts(0));
  await late.store.pause(key, { ...refused, remainingMs: 1 });
  await sleep(systemClock, 1_100);
  redis.stop();
  await send(late);
  await sleep(systemClock, 2_500);
  redis.cont();
  // The answer to the probe comes after the answer to the late command.
  await late.recorder.nth("redis_up", 2);
  return other;
}

it("a token that arrives after its expiry is not stored, and blocks no newer token", async () => {
  const { store } = await stageHung(({ store }) => store.save(key, issued("old", 2_000), 10));
  expect((await store.read(key)).token).toBeUndefined();
  const stored = await store.save(key, issued("new", hourMs), 1_000);
  expect(stored.secret.reveal()).toBe("new");
});

it("a pause that arrives after its end has no effect", async () => {
  const { store } = await stageHung(({ store }) => store.pause(key, refused));
  expect((await store.read(key)).limits?.endpoint?.remainingMs ?? 0).toBe(0);
});

it("a count of useless refreshes that arrives late is not counted", async () => {
  const { store } = await stageHung(({ store }) => store.countForced(key, counts(4)));
  expect((await store.read(key, ["S1"])).limits?.forced.get("S1")?.useless).toBe(0);
});

const rotations = 5_000;
const atOnce = 50;
/** Far longer than a real key, so that kept keys are seen in the heap. */
const keyBytes = 4_096;
const newKey = () => randomBytes(keyBytes / 2).toString("hex");

/** Each rotated secret has a cache key of its own. */
it("5,000 released keys take no memory of the process", async () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const heapBytes = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const { store, recorder } = openReplica(await startRedis(), patientClock);
  const use = async () => {
    const key = newKey();
    await store.read(key);
    await store.save(key, issued("token", 1_000), 0);
    store.forget(key);
  };
  const rotate = async (count: number) => {
    for (let n = 0; n < count; n += atOnce) await Promise.all(Array.from({ length: atOnce }, use));
  };
  await rotate(rotations / 10);
  const before = heapBytes();
  await rotate(rotations);
  expect(recorder.of("token_cache_read").some(({ result }) => result === "error")).toBe(false);
  // All keys together would be 20 MB; the events recorded here are small.
  expect(heapBytes() - before).toBeLessThan((rotations * keyBytes) / 2);
});

/** @param planted commands that write what another server or another writer left there */
async function stage(planted: readonly (readonly string[])[] = []) {
  const redis = await startRedis();
  const replica = openReplica(redis);
  for (const [command = "", ...args] of planted) await redis.command(command, ...args);
  const limitsNow = async () => (await replica.store.read(key, ["S1"])).limits;
  return { redis, ...replica, limitsNow };
}
