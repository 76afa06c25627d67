/** The zones of one set's token, and the one timer that refreshes the token while it is used, and ends with the process. */
import { describe, expect, it } from "vitest";
import { createMemoryTokenStore } from "../../../src/adapters/memory/token-store.ts";
import { sleep } from "../../../src/model/clock.ts";
import { hourMs, openSiteTokens } from "../../../testkit/site-tokens.ts";
import { answered } from "../../../testkit/token-endpoint-script.ts";

it("a fresh token is requested once and used by all requests", async () => {
  const { login, get } = openSiteTokens();
  const tokens = await Promise.all(Array.from({ length: 100 }, () => get()));
  expect(new Set(tokens)).toEqual(new Set(["token_1"]));
  expect(login.requests).toBe(1);
});

describe("a due token", () => {
  it("still serves while one refresh runs, and no request waits", async () => {
    const { clock, login, get } = openSiteTokens();
    await get();
    const release = login.hold();
    await clock.advance(0.84 * hourMs);
    expect(await Promise.all([get(), get(), get()])).toEqual(["token_1", "token_1", "token_1"]);
    expect(login.requests).toBe(2);
    release();
    await clock.advance(0);
    expect(await get()).toBe("token_2");
    expect(login.requests).toBe(2);
  });

  it("serves until it expires when the refresh fails all the time", async () => {
    const { clock, login, get } = openSiteTokens();
    await get();
    for (let n = 0; n < 1_000; n++) login.next(answered(503));
    for (let second = 0; second < (hourMs - 91_000) / 1_000; second += 30) {
      await clock.advance(30_000);
      if (clock.nowMs() < 1_000 + hourMs - 90_000) expect(await get()).toBe("token_1");
    }
    expect(login.requests).toBeGreaterThan(5);
    await clock.advance(90_000);
    await expect(get()).rejects.toMatchObject({ code: "token_unavailable" });
  });
});

describe("an expired token", () => {
  it("is never attached: requests wait for the one refresh", async () => {
    const { clock, login, get } = openSiteTokens();
    await get();
    await clock.advance(hourMs - 90_000);
    const release = login.hold();
    const waiting = [get(), get(), get()];
    await clock.advance(1_000);
    release();
    expect(await Promise.all(waiting)).toEqual(["token_2", "token_2", "token_2"]);
    expect(login.requests).toBe(2);
  });

  it("keeps requests waiting for timeouts.token at most, and its refresh continues without them", async () => {
    const { clock, login, get } = openSiteTokens();
    const release = login.hold();
    const failed = expect(get()).rejects.toMatchObject({ code: "token_unavailable", status: 503, outcome: "not_sent" });
    await clock.advance(5_000);
    await failed;
    release();
    await clock.advance(0);
    expect(await get()).toBe("token_1");
    expect(login.requests).toBe(1);
  });
});

describe("the timer", () => {
  it("leaves an unused token alone, whose first use in the due zone refreshes it", async () => {
    const { clock, login, source, get } = openSiteTokens();
    source.warm();
    await clock.advance(0.9 * hourMs);
    expect(login.requests).toBe(1);
    expect(await get()).toBe("token_1");
    await clock.advance(0);
    expect(await get()).toBe("token_2");
  });

  it("refreshes at most once a second, however short tokens are valid", async () => {
    const { clock, login, get } = openSiteTokens();
    login.lifetimeSeconds = 1;
    for (let step = 0; step < 100; step++) {
      const token = get();
      await clock.advance(100);
      await token;
    }
    expect(login.requests).toBeLessThanOrEqual(11);
    expect(login.requests).toBeGreaterThanOrEqual(9);
  });

  it("fires again though it fired while a refresh after a 401 was suppressed", async () => {
    const stage = openSiteTokens();
    const { clock, recorder, login } = stage;
    login.lifetimeSeconds = 20;
    const inner = createMemoryTokenStore(clock);
    let delayMs = 0;
    const slowStore = {
      ...inner,
      async read(key: string, names?: readonly string[]) {
        if (delayMs > 0) await sleep(clock, delayMs);
        return inner.read(key, names);
      },
    };
    const { source } = stage.openReplica({ store: slowStore });
    const second = await stage.replace(await source.get(stage.deadline()), "S1", source);
    if (typeof second === "string") throw new Error("a second token");
    await clock.advance(10_000);
    const third = await stage.replace(second, "S1", source);
    if (typeof third === "string") throw new Error("a third token");
    // Neither retry was accepted, so the site pauses for 20 s.
    const dueMs = third.issuedAtMs + 0.84 * third.lifetimeMs;
    await clock.advance(dueMs - clock.nowMs() - 5);
    delayMs = 100;
    const again = source.replace(third, "S1", stage.deadline());
    await clock.advance(200);
    expect(await again).toBe("paused");
    const adopted = recorder.count("token_adopted");
    await clock.advance(60_000);
    expect(recorder.count("token_lapsed") + recorder.count("token_adopted")).toBeGreaterThan(adopted);
    expect(clock.pending).toBe(0);
  });

  it("is not set again by a refresh that ends after the token cache was closed", async () => {
    const { clock, login, openReplica } = openSiteTokens();
    const { source, members } = openReplica();
    const release = login.hold();
    source.warm();
    await clock.advance(10);
    for (const member of members) member.source.close();
    release();
    await clock.advance(10);
    expect(clock.pending).toBe(0);
  });
});
