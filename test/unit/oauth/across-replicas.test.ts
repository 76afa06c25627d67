/** Replicas over a shared store. The test controls the clock and the authorization server. */
import { describe, expect, it } from "vitest";
import { createMemoryRefreshLock, createMemoryTokenStore } from "../../../src/adapters/memory/token-store.ts";
import { sleep } from "../../../src/model/clock.ts";
import type { CredentialFailover } from "../../../src/oauth/credential-failover.ts";
import type { Shared } from "../../../src/oauth/token-store.ts";
import { issued } from "../../../testkit/issued-token.ts";
import { hourMs, keyOfBlue, openSiteTokens, show } from "../../../testkit/site-tokens.ts";
import { answered, TokenEndpointScript } from "../../../testkit/token-endpoint-script.ts";

describe("eight replicas towards the authorization server", () => {
  it("make one request when the server answers 429, and one more after the pause", async () => {
    const { replicas, clock, login, get } = stageReplicas(8);
    login.next(answered(429, "", "60"));
    const first = Promise.allSettled(replicas.map((replica) => get(replica)));
    await clock.advance(6_000);
    for (const { status } of await first) expect(status).toBe("rejected");
    for (const replica of replicas) await expect(get(replica)).rejects.toMatchObject({ code: "token_unavailable" });
    expect(login.requests).toBe(1);
    await clock.advance(55_000);
    const second = Promise.all(replicas.map((replica) => get(replica)));
    await clock.advance(1_000);
    expect(new Set(await second)).toEqual(new Set(["token_2"]));
    expect(login.requests).toBe(2);
  });

  it("request a token for a refused set once in 10 s, and for the second set once", async () => {
    const { replicas, clock, login, get } = stageReplicas(8, ["blue", "green"]);
    for (let n = 0; n < 100; n++) {
      login.next(() => (login.asked.at(-1) === "client-blue" ? answered(401) : login.issued(login.requests)));
    }
    for (let second = 0; second < 30; second++) {
      const tokens = Promise.all(replicas.map((replica) => get(replica)));
      await clock.advance(1_000);
      expect(new Set(await tokens)).toEqual(new Set(["token_2"]));
    }
    expect(login.asked.filter((client) => client === "client-green")).toHaveLength(1);
    // The last of the four is at the end of the 30 s.
    expect(login.asked.filter((client) => client === "client-blue")).toHaveLength(4);
  });

  it("make five requests in total before their callers get an answer, then one at the end of each pause", async () => {
    const { replicas, clock, login, get } = stageReplicas(8);
    for (let n = 0; n < 1_000; n++) login.next(answered(503));
    const tries = Promise.allSettled(replicas.map((replica) => get(replica)));
    // With random() at 0.5 the pauses are 50, 50, 100, 200, 400 and 800 ms long.
    await clock.advance(700);
    for (const { status } of await tries) expect(status).toBe("rejected");
    expect(login.requests).toBe(5);
    await clock.advance(100);
    expect(login.requests).toBe(6);
    await clock.advance(900);
    expect(login.requests).toBe(7);
  });

  it("use a token that another replica got, although the server told this one to wait", async () => {
    const { replicas, clock, login, get, store } = stageReplicas(2);
    const [one = expect.unreachable(), other = expect.unreachable()] = replicas;
    login.next(answered(429, "", "3600"));
    await expect(get(one)).rejects.toMatchObject({ code: "token_unavailable" });
    await clock.advance(2_000);
    await store.save(keyOfBlue, issued("found", hourMs), 0);
    expect(await get(one)).toBe("found");
    expect(await get(other)).toBe("found");
    expect(login.requests).toBe(1);
  });
});

describe("a replica that cannot reach the authorization server", () => {
  /** Three waiting replicas, and one that requests first, with `cutOff` as its authorization server. */
  async function stageCutOff(cutOff: TokenEndpointScript) {
    const stage = stageReplicas(3);
    const { openReplica, replicas, clock, get } = stage;
    openReplica({ login: cutOff }).source.warm();
    await clock.advance(0);
    expect(cutOff.requests).toBe(1);
    return { ...stage, waiting: Promise.all(replicas.map((replica) => get(replica))) };
  }

  it("holds no lock while it connects", async () => {
    const cutOff = new TokenEndpointScript();
    cutOff.connected = new Promise(() => {});
    const { replicas, openReplica, clock, get, login } = stageReplicas(3);
    openReplica({ login: cutOff }).source.warm();
    await clock.advance(0);
    const waiting = Promise.all(replicas.map((replica) => get(replica)));
    await clock.advance(200);
    expect(new Set(await waiting)).toEqual(new Set(["token_1"]));
    expect(login.requests).toBe(1);
    expect(cutOff.requests).toBe(0);
  });

  it("waits for the token of another replica that can", async () => {
    const cutOff = new TokenEndpointScript();
    cutOff.connected = Promise.resolve({ kind: "failed", cause: "ECONNREFUSED" });
    const { source, openReplica, clock, get, login } = stageReplicas(1);
    const release = login.hold();
    const first = get(source);
    await clock.advance(10);
    const second = get(openReplica({ login: cutOff }).source);
    await clock.advance(3_000);
    release();
    await clock.advance(200);
    expect([await first, await second]).toEqual(["token_1", "token_1"]);
  });

  it("releases the lock before it waits for another try, and pauses no other replica", async () => {
    const cutOff = new TokenEndpointScript();
    for (let n = 0; n < 5; n++) cutOff.next({ kind: "failed" });
    const { clock, waiting, store } = await stageCutOff(cutOff);
    await clock.advance(900);
    expect(new Set(await waiting)).toEqual(new Set(["token_1"]));
    expect((await store.read(keyOfBlue)).limits?.endpoint).toBeUndefined();
  });

  it("leaves the refresh to the others when its own request got no answer", async () => {
    const cutOff = new TokenEndpointScript();
    const stage = stageReplicas(2);
    const { openReplica, replicas, clock, get } = stage;
    for (let n = 0; n < 5; n++) cutOff.next(() => sleep(clock, 5_000).then(() => ({ kind: "timed_out" })));
    openReplica({ login: cutOff }).source.warm();
    await clock.advance(4_000);
    const waiting = Promise.all(replicas.map((replica) => get(replica)));
    await clock.advance(1_900);
    expect(new Set(await waiting)).toEqual(new Set(["token_1"]));
  });
});

it("a due token of eight replicas is refreshed once; a replica that finds the lock held neither waits nor polls", async () => {
  const { replicas, clock, login, get, store } = stageReplicas(8);
  const first = Promise.all(replicas.map((replica) => get(replica)));
  await clock.advance(100);
  expect(new Set(await first)).toEqual(new Set(["token_1"]));
  expect(login.requests).toBe(1);
  let reads = 0;
  const { read } = store;
  store.read = async (key): Promise<Shared> => {
    reads += 1;
    return read(key);
  };
  const release = login.hold();
  await clock.advance(0.84 * hourMs - 100);
  for (const replica of replicas) expect(await get(replica)).toBe("token_1");
  await clock.advance(900);
  for (const replica of replicas) expect(await get(replica)).toBe("token_1");
  // The holder read the store twice, each other replica once.
  expect(reads).toBe(9);
  release();
  await clock.advance(3_000);
  for (const replica of replicas) expect(await get(replica)).toBe("token_2");
  expect(login.requests).toBe(2);
  expect(reads).toBe(16);
});

it("a replica waits for a lock that is never released for a minute and a half, then ignores the lock", async () => {
  const { openReplica, clock, login, get, lock } = openSiteTokens();
  await lock.tryAcquire(keyOfBlue);
  const { source } = openReplica();
  source.warm();
  await clock.advance(89_000);
  expect(login.requests).toBe(0);
  await clock.advance(3_000);
  expect(await get(source)).toBe("token_1");
});

it("a suspended holder of the lock adopts the newer token that another process got meanwhile", async () => {
  const { replicas, clock, login, get, openReplica, store } = stageReplicas(1);
  const [holder = expect.unreachable()] = replicas;
  const resume = login.hold();
  holder.warm();
  await clock.advance(10_000);
  // The holder's lock has expired: another process gets a lock.
  const { source: other } = openReplica({ store, lock: createMemoryRefreshLock() });
  expect(await get(other)).toBe("token_2");
  await clock.advance(5_000);
  resume();
  await clock.advance(100);
  expect(await get(holder)).toBe("token_2");
  expect((await store.read(keyOfBlue)).token?.secret.reveal()).toBe("token_2");
});

/** Replicas that got separate tokens while the shared store was away have one token again when it is back. */
describe("when the shared store is back", () => {
  /** Two replicas with separate tokens, as while Redis is away. */
  async function stageDiverged() {
    const stage = openSiteTokens();
    const open = () => {
      let isAway = true;
      const own = createMemoryTokenStore(stage.clock);
      const there = () => (isAway ? own : stage.store);
      const store = {
        read: (key: string) => there().read(key),
        readPause: (key: string) => there().readPause(key),
        save: (...given: Parameters<typeof own.save>) => there().save(...given),
        pause: (...given: Parameters<typeof own.pause>) => there().pause(...given),
        countForced: (...given: Parameters<typeof own.countForced>) => there().countForced(...given),
        forget: (key: string) => there().forget(key),
      };
      const { source, members } = stage.openReplica({ store, lock: createMemoryRefreshLock() });
      const resync = () => {
        isAway = false;
        for (const member of members) member.source.resync();
      };
      const close = () => Promise.all(members.map((member) => member.source.close()));
      return { source, resync, close };
    };
    return { ...stage, one: open(), other: open(), open };
  }

  it("each publishes its token, and the newest stays", async () => {
    const { one, other, clock, get, store } = await stageDiverged();
    await get(one.source);
    await clock.advance(1_000);
    await get(other.source);
    other.resync();
    await clock.advance(1_000);
    one.resync();
    await clock.advance(1_000);
    expect((await store.read(keyOfBlue)).token?.secret.reveal()).toBe("token_2");
    expect(await get(one.source)).toBe("token_2");
    expect((await store.read(keyOfBlue)).token?.remainingMs).toBe(hourMs - 2_000);
    const origins = [one, other].map(({ source }) => source.snapshot()[0]?.token);
    expect(origins).toMatchObject([
      { issuedHere: false, reason: "redis_recovered" },
      { issuedHere: true, reason: "missing" },
    ]);
  });

  it("a set that was closed meanwhile publishes nothing", async () => {
    const { one, clock, get, store } = await stageDiverged();
    await get(one.source);
    one.resync();
    await one.close();
    await clock.advance(1_000);
    expect((await store.read(keyOfBlue)).token).toBeUndefined();
  });

  it("a token that the service has refused is not published", async () => {
    const { one, clock, deadline, login, replace, store } = await stageDiverged();
    const token = await one.source.get(deadline());
    login.next(answered(429, "", "60"));
    expect(await replace(token, "S1", one.source)).toBe("no_token");
    one.resync();
    await clock.advance(1_000);
    expect((await store.read(keyOfBlue)).token).toBeUndefined();
  });

  it("a token that other sites use successfully is published, though one site gets only 401", async () => {
    const { one, clock, deadline, get, replace, store } = await stageDiverged();
    const first = await one.source.get(deadline());
    one.source.accepted(first, "good", clock.nowMs());
    const second = await replace(first, "bad", one.source);
    if (typeof second === "string") throw new Error("a second token");
    one.source.accepted(await one.source.get(deadline()), "good", clock.nowMs());
    expect(await one.source.replace(second, "bad", deadline())).toBe("paused");
    one.resync();
    await clock.advance(2_000);
    expect(await get(one.source)).toBe("token_2");
    expect((await store.read(keyOfBlue)).token?.secret.reveal()).toBe("token_2");
  });

  it("the next refresh is one for all replicas", async () => {
    const { one, other, clock, get, login } = await stageDiverged();
    await get(one.source);
    await clock.advance(1_000);
    await get(other.source);
    one.resync();
    other.resync();
    await clock.advance(0.84 * hourMs);
    await get(one.source);
    await get(other.source);
    await clock.advance(5_000);
    expect(new Set([await get(one.source), await get(other.source)])).toEqual(new Set(["token_3"]));
    expect(login.requests).toBe(3);
  });
});

describe("401 for ever, over several replicas", () => {
  it("pauses a site on all replicas, and longer each time, whichever replica tries", async () => {
    const { replicas, clock, refuse, requests } = stageReplicas(3);
    const counts: number[] = [];
    for (const pauseMs of [10_000, 20_000, 40_000]) {
      for (const replica of replicas) await refuse(replica, "S1");
      counts.push(requests());
      await clock.advance(pauseMs - 6_000);
      for (const replica of replicas) await refuse(replica, "S1");
      counts.push(requests());
      await clock.advance(6_000);
    }
    expect(counts).toEqual([2, 2, 3, 3, 4, 4]);
  });

  it("on many sites uses four tokens in the first minute in total, even before it is known whether the new ones are accepted", async () => {
    const { replicas, refuse, requests, recorder } = stageReplicas(4);
    for (let site = 0; site < 8; site++) for (const replica of replicas) await refuse(replica, `S${site}`);
    // 32 s have passed so far: the windows of all sites together are 10 s and 20 s long.
    expect(requests()).toBe(1 + 3);
    expect(recorder.of("refresh_suppressed").map(({ reason }) => reason)).toContain("limited");
  });

  it("does not delay the replacement of another site's revoked token, on any replica", async () => {
    const { replicas, clock, refuse, deadline, requests } = stageReplicas(3);
    for (const replica of replicas) replica.accepted(await replica.get(deadline()), "good", clock.nowMs());
    for (let site = 0; site < 5; site++) for (const replica of replicas) await refuse(replica, `bad${site}`);
    const before = requests();
    for (const replica of replicas) expect(show(await refuse(replica, "good"))).toBe(`token_${before + 1}`);
    expect(requests()).toBe(before + 1);
  });

  it("does not hold cures against a site, until its budget is spent", async () => {
    const { replicas, refuse, clock, requests } = stageReplicas(2);
    for (let revocation = 0; revocation < 4; revocation++) {
      for (const replica of replicas) {
        const newer = await Promise.all([1, 2, 3].map(() => refuse(replica, "S1")));
        for (const token of newer) {
          if (typeof token === "string") throw new Error("not cured");
          replica.cured(token, "S1", clock.nowMs());
        }
      }
      await clock.advance(100);
    }
    expect(requests()).toBeGreaterThan(4);
  });
});

describe("replicas that each have their own assertion file", () => {
  const token = {
    url: undefined,
    clientAuth: { method: "assertion", file: "/run/token", type: "jwt-bearer" },
    body: "form",
    scope: undefined,
    resource: undefined,
    extra: {},
    lifetimeMs: undefined,
  } as const;

  it("get a token at once though one of them is refused with a stale file, and then share it with that one", async () => {
    const { clock, login, openReplica, get } = openSiteTokens();
    const [stale, good] = [openReplica({ token }).source, openReplica({ token }).source];
    login.next(answered(401, '{"error":"invalid_client"}'));
    await expect(get(stale)).rejects.toMatchObject({ code: "credentials_refused" });
    expect(await get(good)).toBe("token_2");
    await clock.advance(10_000);
    expect(await get(stale)).toBe("token_2");
    expect(login.requests).toBe(2);
  });

  it("use their token until it expires while the file is missing, and request a new one once the file is back", async () => {
    const { clock, login, recorder, openReplica, get } = openSiteTokens();
    const { source } = openReplica({ token });
    expect(await get(source)).toBe("token_1");
    const read = login.assertion;
    login.assertion = { kind: "failed", cause: "assertion file /run/token: ENOENT" };
    await clock.advance(0.9 * hourMs);
    expect(await get(source)).toBe("token_1");
    expect(login.requests).toBe(1);
    expect(recorder.of("token_requested").at(-1)).toMatchObject({
      result: "failed",
      cause: "assertion file /run/token: ENOENT",
    });
    login.assertion = read;
    await clock.advance(30_000);
    expect(await get(source)).toBe("token_2");
  });
});

/** A stage with this many processes; the first is the stage's own. */
function stageReplicas(count: number, names?: readonly [string, ...string[]]) {
  const stage = openSiteTokens(names);
  const replicas = [stage.source, ...Array.from({ length: count - 1 }, () => stage.openSource())];
  /** A request that the service answers with 401: returns the replacement of its token. */
  const refuse = async (source: CredentialFailover, site: string) =>
    stage.replace(await source.get(stage.deadline()), site, source);
  return { ...stage, replicas, refuse, requests: () => stage.login.requests };
}
