import { describe, expect, it } from "vitest";
import { createMemoryRefreshLock, createMemoryTokenStore } from "../../../src/adapters/memory/token-store.ts";
import { sleep } from "../../../src/model/clock.ts";
import { hourMs, openSiteTokens, show } from "../../../testkit/site-tokens.ts";
import { answered } from "../../../testkit/token-endpoint-script.ts";

describe("an authorization server that fails", () => {
  it.each([
    { stores: "stores of their own", isShared: false, mostInAMinute: 40 * 4, tokens: 40 },
    { stores: "one store", isShared: true, mostInAMinute: 4, tokens: 1 },
  ])("is asked $mostInAMinute times a minute by forty sidecars with $stores that start while it fails", async (row) => {
    const { clock, login, openReplica } = openSiteTokens();
    let isAway = true;
    const issue = () => login.issued(login.requests);
    for (let n = 0; n < 2_000; n++) login.next(() => (isAway ? answered(503) : issue()));
    const sidecars = Array.from({ length: 40 }, () =>
      openReplica(row.isShared ? {} : { store: createMemoryTokenStore(clock), lock: createMemoryRefreshLock() }),
    );
    for (const { source } of sidecars) source.warm();
    await clock.advance(60_000);
    for (let minute = 1; minute < 10; minute++) {
      const before = login.requests;
      await clock.advance(60_000);
      expect(login.requests - before).toBeGreaterThan(0);
      expect(login.requests - before).toBeLessThanOrEqual(row.mostInAMinute);
    }
    isAway = false;
    const before = login.requests;
    await clock.advance(30_000);
    expect(sidecars.filter(({ members }) => members[0]?.source.hasToken)).toHaveLength(40);
    expect(login.requests - before).toBe(row.tokens);
  });

  it("gets one request per pause once it fails, however many orders wait, and delays orders by at most 30 s once it is back", async () => {
    const { clock, login, get } = openSiteTokens();
    for (let n = 0; n < 1_000; n++) login.next({ kind: "failed" });
    for (let second = 0; second < 600; second++) {
      const asked = Promise.allSettled([get(), get(), get()]);
      await clock.advance(1_000);
      await asked;
    }
    // Full jitter with random() at 0.5: pauses of 15 s in the long run.
    expect(login.requests).toBeLessThan(60);
    expect(login.requests).toBeGreaterThan(30);
  });

  it("and does not answer gets another request after a pause, for the callers that still wait", async () => {
    const { clock, login, get } = openSiteTokens();
    login.next(() => sleep(clock, 5_000).then(() => ({ kind: "timed_out" })));
    const first = expect(get()).rejects.toMatchObject({ code: "token_unavailable" });
    await clock.advance(1_000);
    const second = get();
    await clock.advance(4_499);
    await first;
    expect(login.requests).toBe(1);
    await clock.advance(100);
    expect(await second).toBe("token_2");
    expect(login.timeoutsMs).toEqual([5_000, 5_000]);
  });

  it("tells callers that no token came in time, while the refresh continues after a failure", async () => {
    const { clock, login, get } = openSiteTokens();
    login.next(answered(500));
    const release = login.hold();
    const message = expect.stringContaining("the authorization server does not answer in time (no answer)");
    const failed = expect(get()).rejects.toMatchObject({ code: "token_unavailable", message });
    await clock.advance(5_000);
    await failed;
    release();
  });
});

it("a 429 leaves a valid token in use", async () => {
  const { clock, login, get } = openSiteTokens();
  await get();
  login.next(answered(429, "", "60"));
  await clock.advance(0.84 * hourMs);
  expect(await get()).toBe("token_1");
  await clock.advance(59_000);
  expect(await get()).toBe("token_1");
  expect(login.requests).toBe(2);
  await clock.advance(2_000);
  await get();
  await clock.advance(0);
  expect(await get()).toBe("token_3");
});

describe("refused credentials", () => {
  it("leave a valid token in use until the second set has its own", async () => {
    const { clock, login, get } = openSiteTokens(["blue", "green"]);
    await get();
    login.next(answered(401));
    const release = login.hold();
    await clock.advance(0.84 * hourMs);
    expect(await get()).toBe("token_1");
    await clock.advance(0);
    expect(await get()).toBe("token_1");
    expect(login.asked).toEqual(["client-blue", "client-blue", "client-green"]);
    release();
    await clock.advance(0);
    expect(await get()).toBe("token_3");
  });

  it("whose token gets a 401 as well switch sets within the one retry, and that token is not attached again", async () => {
    const { clock, login, source, deadline, get } = openSiteTokens(["blue", "green"]);
    const refused = await source.get(deadline());
    login.next(answered(401));
    const release = login.hold();
    const replacing = source.replace(refused, "S1", deadline());
    await clock.advance(1_000);
    const waiting = get();
    await clock.advance(0);
    release();
    await clock.advance(0);
    expect(await replacing).toMatchObject({ credential: "S1/green" });
    expect(await waiting).toBe("token_3");
    expect(login.asked).toEqual(["client-blue", "client-blue", "client-green"]);
  });

  it("whose token gets a 401 as well give later 401s the second set's token, without delay or another request", async () => {
    const { clock, login, source, deadline, replace } = openSiteTokens(["blue", "green"]);
    const refused = await source.get(deadline());
    login.next(answered(401));
    expect(show(await replace(refused))).toBe("token_3");
    const later = [1, 2].map(() => source.replace(refused, "S1", deadline()));
    await clock.advance(0);
    for (const found of await Promise.all(later)) expect(show(found)).toBe("token_3");
    await clock.advance(2_000);
    expect(login.asked).toEqual(["client-blue", "client-blue", "client-green"]);
  });

  it("whose token got a 401 as well are tried again after their pause, not only when that token is due", async () => {
    const { clock, login, source, deadline, get, replace } = openSiteTokens(["blue", "green"]);
    const refused = await source.get(deadline());
    login.next(answered(401));
    expect(show(await replace(refused))).toBe("token_3");
    await clock.advance(12_000);
    expect(await get()).toBe("token_3");
    await clock.advance(0);
    expect(await get()).toBe("token_4");
  });
});

describe("a first set that gets nothing but 500, as an unknown client does at some servers", () => {
  it("gives way to the second within ten seconds, and comes back", async () => {
    const { clock, login, source, get } = openSiteTokens(["blue", "green"]);
    const active = () => source.snapshot().find(({ isActive }) => isActive)?.credential;
    let isBlueUnknown = true;
    login.answer((clientId, n) => (isBlueUnknown && clientId === "client-blue" ? answered(500) : login.issued(n)));
    const startMs = clock.nowMs();
    let servedAtMs: number | undefined;
    for (let n = 0; n < 120 && servedAtMs === undefined; n++) {
      const order = get().then(
        () => {
          servedAtMs ??= clock.nowMs();
        },
        () => {},
      );
      await clock.advance(100);
      void order;
    }
    await clock.advance(5_000);
    expect((servedAtMs ?? Number.POSITIVE_INFINITY) - startMs).toBeLessThanOrEqual(10_000);
    // Orders do not wait for the first set any more.
    expect(await get()).toMatch(/^token_/);
    expect(active()).toBe("S1/green");
    isBlueUnknown = false;
    await clock.advance(31_000);
    await get();
    await clock.advance(1_000);
    expect(active()).toBe("S1/blue");
  });

  it("keeps its place while it has a token that the service takes", async () => {
    const { clock, login, get } = openSiteTokens(["blue", "green"]);
    await get();
    login.answer((clientId, n) => (clientId === "client-blue" ? answered(500) : login.issued(n)));
    await clock.advance(0.84 * hourMs);
    expect(await get()).toBe("token_1");
    await clock.advance(20_000);
    expect(await get()).toBe("token_1");
    expect(login.asked).not.toContain("client-green");
  });

  it("whose token the service refuses as well gives way", async () => {
    const { clock, login, source, deadline, get } = openSiteTokens(["blue", "green"]);
    const refused = await source.get(deadline());
    login.answer((clientId, n) => (clientId === "client-blue" ? answered(500) : login.issued(n)));
    const replacing = source.replace(refused, "S1", deadline());
    await clock.advance(10_000);
    await replacing;
    void source.replace(refused, "S1", deadline());
    await clock.advance(10_000);
    expect(await get()).not.toBe("token_1");
  });
});
