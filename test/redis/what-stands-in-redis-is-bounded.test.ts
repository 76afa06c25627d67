/**
 * Redis's clock may step, a failover may lead to a server whose clock differs, and anybody with the password may write. What
 * stands there is believed for as long as it can have been meant, and it never keeps new facts from being written.
 */
import { describe, expect, it } from "vitest";
import { redisKeys } from "../../src/adapters/redis/keys.ts";
import { seal } from "../../src/adapters/redis/seal.ts";
import { systemClock } from "../../src/model/clock.ts";
import { Secret } from "../../src/model/secret.ts";
import { EndpointBackoff } from "../../src/oauth/endpoint-backoff.ts";
import type { Note } from "../../src/oauth/shared-limits.ts";
import { startRedis } from "../../testkit/redis.ts";
import { openReplica, sealKey } from "../../testkit/redis-replica.ts";

const key = "ab".repeat(32);
const hourMs = 3_600_000;
const names = redisKeys(key);

async function stage(conduct?: object) {
  const redis = await startRedis();
  const replica = openReplica(redis);
  if (conduct !== undefined) {
    const document = JSON.stringify({ sites: {}, tries: {}, ...conduct });
    await redis.command("SET", names.conduct, document, "PX", 2 * hourMs);
  }
  const conductNow = async () => (await replica.store.read(key)).conduct;
  return { redis, ...replica, conductNow };
}

const tried = (token: string): Note => ({ kind: "tried", token, site: "S1", isDoubted: false });
const throttled = (remainingMs: number): Note => {
  return { kind: "login_paused", pause: { kind: "throttled", status: 429, failures: 1, remainingMs } };
};
/** As a server wrote it whose clock was an hour ahead. */
const inAnHour = () => Date.now() + hourMs;
const refusedThen = () => {
  const atMs = inAnHour();
  return { login: { kind: "refused", status: 401, failures: 0, atMs, untilMs: atMs + 10_000 } };
};
const useless = (names: readonly string[]) => {
  return { tries: Object.fromEntries(names.map((name) => [`${name} S1`, { useless: true, atMs: inAnHour() }])) };
};

describe("what was written by a clock that was ahead", () => {
  it("a token that seems to come from the future is not used", async () => {
    const { redis, store } = await stage();
    const sealed = seal([sealKey()], names.token, { secret: new Secret("dead"), lifetimeMs: hourMs });
    await redis.command("SET", names.token, `1:${Date.now() + 600_000}:${sealed}`, "PX", hourMs + 600_000);
    expect((await store.read(key)).token).toBeUndefined();
  });

  it("a pause of 10 s for refused credentials lasts no longer", async () => {
    const { conductNow } = await stage(refusedThen());
    expect((await conductNow())?.login?.remainingMs ?? 0).toBeLessThanOrEqual(10_000);
  });

  it("a site's pause of 30 s lasts no longer", async () => {
    const { conductNow } = await stage({ sites: { S1: { pauseMs: 30_000, untilMs: inAnHour() + 30_000 } } });
    expect((await conductNow())?.sites.get("S1")?.remainingMs ?? 0).toBeLessThanOrEqual(30_000);
  });

  it("useless refreshes do not count", async () => {
    const { conductNow } = await stage(useless(["t1", "t2", "t3"]));
    expect((await conductNow())?.tries ?? []).toEqual([]);
  });

  it("a new 429 takes the place of an old pause", async () => {
    const { store, conductNow } = await stage(refusedThen());
    await store.note(key, throttled(60_000));
    expect((await conductNow())?.login?.kind).toBe("throttled");
  });

  it("new tries are kept beside 32 old ones", async () => {
    const { store, conductNow } = await stage(useless(Array.from({ length: 32 }, (_, n) => `f${n}`)));
    await store.note(key, tried("new"));
    expect((await conductNow())?.tries.map(({ token }) => token)).toEqual(["new"]);
  });

  it("a moment beyond all numbers breaks no note", async () => {
    const { store, recorder } = await stage({ login: { kind: "refused", failures: 0, atMs: 0, untilMs: 1e300 } });
    await store.note(key, tried("t1"));
    expect(recorder.of("redis_failed")).toEqual([]);
  });
});

describe("what is written now", () => {
  it("a refusal as Conduct notes it, with fractions of milliseconds, reaches the others", async () => {
    const { store, recorder, conductNow } = await stage();
    const conduct = new EndpointBackoff(systemClock, Math.random);
    conduct.note({ kind: "refused", status: 401 });
    const note = conduct.tell();
    if (note === undefined) throw new Error("a pause");
    await store.note(key, note);
    expect(recorder.of("redis_failed")).toEqual([]);
    expect((await conductNow())?.login?.kind).toBe("refused");
  });

  it("a shorter pause does not take the place of a longer one", async () => {
    const { store, conductNow } = await stage();
    await store.note(key, throttled(hourMs));
    const failing = { kind: "failing", status: 503, failures: 1, remainingMs: 50 } as const;
    await store.note(key, { kind: "login_paused", pause: failing });
    expect((await conductNow())?.login?.kind).toBe("throttled");
  });
});

describe("a failure that lasts", () => {
  it("is told of once though other commands succeed meanwhile: no memory left", async () => {
    const { redis, store, recorder } = await stage();
    await store.read(key);
    await redis.config("maxmemory", "1");
    for (let n = 0; n < 10; n++) {
      await store.read(key);
      await store.note(key, tried(`t${n}`));
    }
    expect(recorder.of("redis_failed").filter(({ isFirst }) => isFirst)).toMatchObject([{ failure: "oom" }]);
  });

  it("is told of once: a missing permission", async () => {
    const { redis, store, recorder } = await stage();
    await store.read(key);
    await redis.command("ACL", "SETUSER", "countersign", "-get");
    for (let n = 0; n < 10; n++) await store.read(key);
    expect(recorder.of("redis_failed").filter(({ isFirst }) => isFirst)).toMatchObject([{ failure: "noperm" }]);
  });
});
