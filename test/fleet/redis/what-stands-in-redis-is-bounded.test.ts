/**
 * Redis's clock may step, a failover may lead to a server whose clock differs, and anybody with the password may write. What
 * stands there is believed for as long as it can have been meant, and it never keeps new facts from being written.
 */
import { describe, expect, it } from "vitest";
import { redisKeys } from "../../../src/adapters/redis/scripts.ts";
import { seal } from "../../../src/adapters/redis/seal.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { Secret } from "../../../src/model/secret.ts";
import { EndpointBackoff } from "../../../src/oauth/endpoint-backoff.ts";
import { forcedRefreshesOf } from "../../../src/oauth/forced-refresh-log.ts";
import type { LimitEvent } from "../../../src/oauth/shared-limits.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { openReplica, sealKey } from "../../../testkit/redis-replica.ts";

const key = "ab".repeat(32);
const hourMs = 3_600_000;
const names = redisKeys(key);

/** @param planted commands that write what another server or another writer left there */
async function stage(planted: readonly (readonly string[])[] = []) {
  const redis = await startRedis();
  const replica = openReplica(redis);
  for (const [command = "", ...args] of planted) await redis.command(command, ...args);
  const limitsNow = async () => {
    const { limits } = await replica.store.read(key);
    return limits && { ...limits, refreshes: forcedRefreshesOf(limits.facts) };
  };
  return { redis, ...replica, limitsNow };
}

const forced = (token: string): LimitEvent => ({ kind: "forced", token, site: "S1" });
const throttled = (remainingMs: number): LimitEvent => {
  return { kind: "endpoint_paused", pause: { kind: "throttled", status: 429, failures: 1, remainingMs } };
};
/** As a server wrote it whose clock was an hour ahead. */
const inAnHour = () => Date.now() + hourMs;
const refusedThen = () => [["SET", names.endpoint, "refused 401 0 - 10000", "PX", String(hourMs + 10_000)]];
const pausedThen = () => [["ZADD", names.pauses, String(inAnHour() + 30_000), "S1 30000"]];
const failedThen = (tokens: readonly string[]) => [
  ["ZADD", names.facts, ...tokens.flatMap((token) => [String(inAnHour()), `failed ${token} S1`])],
];

describe("what was written by a clock that was ahead", () => {
  it("a token that seems to come from the future is not used", async () => {
    const { redis, store } = await stage();
    const sealed = seal([sealKey()], names.token, { secret: new Secret("dead"), lifetimeMs: hourMs });
    await redis.command("SET", names.token, `1:${Date.now() + 600_000}:${sealed}`, "PX", hourMs + 600_000);
    expect((await store.read(key)).token).toBeUndefined();
  });

  it("a pause of 10 s for refused credentials lasts no longer", async () => {
    const { limitsNow } = await stage(refusedThen());
    expect((await limitsNow())?.endpoint?.remainingMs ?? 0).toBeLessThanOrEqual(10_000);
  });

  it("a site's pause of 30 s lasts no longer", async () => {
    const { limitsNow } = await stage(pausedThen());
    expect((await limitsNow())?.sites.get("S1")?.remainingMs ?? 0).toBeLessThanOrEqual(30_000);
  });

  it("failed refreshes do not count", async () => {
    const { limitsNow } = await stage(failedThen(["t1", "t2", "t3"]));
    expect((await limitsNow())?.refreshes).toEqual([]);
  });

  it("a new 429 takes the place of an old pause", async () => {
    const { store, limitsNow } = await stage(refusedThen());
    await store.record(key, throttled(60_000));
    expect((await limitsNow())?.endpoint?.kind).toBe("throttled");
  });

  it("a new failure pauses the site where an old pause stands", async () => {
    const { store, limitsNow } = await stage(pausedThen());
    await store.record(key, { kind: "failed", token: "t1", site: "S1", pauseMs: 60_000 });
    expect((await limitsNow())?.sites.get("S1")?.pauseMs).toBe(60_000);
  });

  it("new facts are kept beside 200 old ones", async () => {
    const { redis, store, limitsNow } = await stage(failedThen(Array.from({ length: 200 }, (_, n) => `f${n}`)));
    await store.record(key, forced("new"));
    expect((await limitsNow())?.refreshes.map(({ token }) => token)).toEqual(["new"]);
    expect(await redis.command("ZRANGE", names.facts, 0, -1)).toEqual(["forced new S1"]);
  });

  it("a moment beyond all numbers breaks no event", async () => {
    const { store, recorder, limitsNow } = await stage([
      ["SET", names.endpoint, `refused 401 0 - ${"9".repeat(400)}`, "PX", "10000"],
      ["ZADD", names.facts, "1e300", "failed t1 S1", "+inf", "failed t2 S1", "-inf", "failed t3 S1"],
      ["ZADD", names.pauses, "1e300", "S1 30000", "+inf", "S2 30000", "-inf", "S3 30000"],
    ]);
    await store.record(key, forced("t1"));
    await store.record(key, throttled(60_000));
    await store.record(key, { kind: "failed", token: "t4", site: "S1", pauseMs: 30_000 });
    expect(recorder.of("redis_failed")).toEqual([]);
    const limits = await limitsNow();
    // Both may be of the same millisecond.
    expect(limits?.refreshes.map(({ token }) => token).sort()).toEqual(["t1", "t4"]);
    expect([...(limits?.sites.keys() ?? [])]).toEqual(["S1"]);
  });
});

describe("what another client may have written", () => {
  it("values of another type are overwritten, and break nothing", async () => {
    const planted = [names.endpoint, names.facts, names.pauses].map((name) => ["RPUSH", name, "planted"]);
    const { store, limitsNow } = await stage(planted);
    expect(await limitsNow()).toEqual({ endpoint: undefined, sites: new Map(), facts: [], refreshes: [] });
    await store.record(key, throttled(60_000));
    await store.record(key, { kind: "failed", token: "t1", site: "S1", pauseMs: 30_000 });
    const limits = await limitsNow();
    expect(limits?.endpoint?.kind).toBe("throttled");
    expect(limits?.sites.size).toBe(1);
    expect(limits?.refreshes).toMatchObject([{ token: "t1", status: "failed" }]);
  });

  it("an endpoint's pause of another form ends with the next token", async () => {
    const { redis, store } = await stage([["SET", names.endpoint, "for ever", "PX", String(hourMs)]]);
    await store.save(key, { secret: new Secret("t1"), lifetimeMs: hourMs }, 0);
    expect(await redis.command("EXISTS", names.endpoint)).toBe(0);
  });

  it("no more facts and pauses are kept, or read, than replicas can have meant", async () => {
    const now = Date.now();
    const { redis, store, limitsNow } = await stage([
      ["ZADD", names.facts, ...Array.from({ length: 500 }, (_, n) => [String(now - n), `failed t${n} S1`]).flat()],
      ["ZADD", names.pauses, ...Array.from({ length: 2_000 }, (_, n) => [String(now + n), `S${n} 30000`]).flat()],
    ]);
    const limits = await limitsNow();
    expect(limits?.facts).toHaveLength(160);
    expect(limits?.refreshes).toHaveLength(32);
    expect(limits?.sites.size).toBe(1_024);
    await store.record(key, forced("new"));
    expect(await redis.command("ZCARD", names.facts)).toBe(160);
    expect(await redis.command("ZCARD", names.pauses)).toBe(1_024);
    expect((await limitsNow())?.refreshes.at(-1)).toMatchObject({ token: "new", status: "pending" });
  });

  it("every key ends by itself", async () => {
    const { redis, store } = await stage();
    await store.record(key, throttled(60_000));
    await store.record(key, { kind: "failed", token: "t1", site: "S1", pauseMs: 900_000 });
    const longestMs = { [names.endpoint]: 60_000, [names.facts]: 60_000, [names.pauses]: 1_800_000 };
    for (const [name, ms] of Object.entries(longestMs)) {
      const leftMs = Number(await redis.command("PTTL", name));
      expect(leftMs).toBeGreaterThan(ms - 30_000);
      expect(leftMs).toBeLessThanOrEqual(ms);
    }
  });

  it("a user who may not use sorted sets still shares tokens", async () => {
    const { redis, store, limitsNow } = await stage();
    await redis.command("ACL", "SETUSER", "countersign", "-zrange", "-zadd");
    await store.save(key, { secret: new Secret("t1"), lifetimeMs: hourMs }, 0);
    await store.record(key, throttled(60_000));
    expect((await store.read(key)).token?.secret.reveal()).toBe("t1");
    expect((await limitsNow())?.endpoint?.kind).toBe("throttled");
  });
});

describe("what is written now", () => {
  it("a refusal with fractions of milliseconds reaches the others", async () => {
    const { store, recorder, limitsNow } = await stage();
    const backoff = new EndpointBackoff(systemClock, Math.random);
    backoff.onAnswer({ kind: "refused", status: 401 });
    const event = backoff.toShared();
    if (event === undefined) throw new Error("a pause");
    await store.record(key, event);
    expect(recorder.of("redis_failed")).toEqual([]);
    expect((await limitsNow())?.endpoint?.kind).toBe("refused");
  });

  it("a shorter pause does not take the place of a longer one", async () => {
    const { store, limitsNow } = await stage();
    await store.record(key, throttled(hourMs));
    const failing = { kind: "failing", status: 503, failures: 1, remainingMs: 50 } as const;
    await store.record(key, { kind: "endpoint_paused", pause: failing });
    expect((await limitsNow())?.endpoint?.kind).toBe("throttled");
  });
});

describe("a failure that lasts", () => {
  it("is reported once though other commands succeed meanwhile: no memory left", async () => {
    const { redis, store, recorder } = await stage();
    await store.read(key);
    await redis.config("maxmemory", "1");
    for (let n = 0; n < 10; n++) {
      await store.read(key);
      await store.record(key, forced(`t${n}`));
    }
    expect(recorder.of("redis_failed").filter(({ isFirst }) => isFirst)).toMatchObject([{ failure: "oom" }]);
  });

  it("is reported once: a missing permission", async () => {
    const { redis, store, recorder } = await stage();
    await store.read(key);
    await redis.command("ACL", "SETUSER", "countersign", "-get");
    for (let n = 0; n < 10; n++) await store.read(key);
    expect(recorder.of("redis_failed").filter(({ isFirst }) => isFirst)).toMatchObject([{ failure: "noperm" }]);
  });
});
