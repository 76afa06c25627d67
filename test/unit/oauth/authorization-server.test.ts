import { describe, expect, it } from "vitest";
import { createMemoryRefreshLock, createMemoryTokenStore } from "../../../src/adapters/memory/token-store.ts";
import { sleep } from "../../../src/model/clock.ts";
import { notSigned } from "../../../src/oauth/token-endpoint.ts";
import { answered } from "../../../testkit/token-endpoint-script.ts";
import { hourMs, show, stageTokens } from "../../../testkit/token-stage.ts";

/** An answer with a body too long to keep. */
const tooLong = { ...answered(200), body: undefined };

describe("an authorization server that fails", () => {
  it("is tried five times within a refresh, with back-off, and then at the end of each pause until it issues a token", async () => {
    const { clock, login, get, recorder } = stageTokens();
    for (let n = 0; n < 6; n++) login.next(answered(500));
    const first = expect(get()).rejects.toMatchObject({ code: "token_unavailable" });
    await clock.advance(700);
    await first;
    expect(login.requests).toBe(5);
    expect(recorder.of("token_requested").every(({ result }) => result === "failed")).toBe(true);
    await clock.advance(100);
    expect(login.requests).toBe(6);
    await clock.advance(60_000);
    expect(recorder.of("token_adopted")).toMatchObject([{ issuedHere: true, reason: "missing" }]);
    expect(login.requests).toBe(7);
    expect(await get()).toBe("token_7");
  });

  it.each([
    { stores: "stores of their own", isShared: false, mostInAMinute: 40 * 4, tokens: 40 },
    { stores: "one store", isShared: true, mostInAMinute: 4, tokens: 1 },
  ])("is asked $mostInAMinute times a minute by forty sidecars with $stores that start while it fails", async (row) => {
    const { clock, login, openReplica } = stageTokens();
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
    const { clock, login, get } = stageTokens();
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
    const { clock, login, get } = stageTokens();
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

  it("by a redirect or a 404 is not followed", async () => {
    const { clock, login, get, recorder } = stageTokens();
    login.next(answered(307)).next(answered(404));
    const token = get();
    await clock.advance(1_000);
    expect(await token).toBe("token_3");
    expect(recorder.of("token_requested").map(({ result }) => result)).toEqual(["failed", "failed", "issued"]);
  });

  it("by a malformed answer never gives a token", async () => {
    const { clock, login, get, recorder } = stageTokens();
    login.next(answered(200, "<html>")).next(tooLong);
    const token = get();
    await clock.advance(1_000);
    expect(await token).toBe("token_3");
    expect(recorder.of("token_requested").map(({ result }) => result)).toEqual(["malformed", "malformed", "issued"]);
  });
});

describe("a caller without a token is told", () => {
  it.each([
    ["of silence", { kind: "timed_out" }, "could not be reached, or gave no complete answer"],
    ["of a broken connection", { kind: "failed", cause: "ECONNRESET" }, "no complete answer (ECONNRESET). Next try"],
    ["the status of a failure", answered(500), "the authorization server answered 500. Next try"],
    ["of 429", answered(429, "", "30"), "the authorization server answered 429. Next try in 30 s"],
    ["of a 200 without a token", answered(200, "{}"), "answered 200, but with no token (access_token)"],
    ["of an answer that is too long", tooLong, "answered 200, but with no token (answer too long)"],
    ["that no request was made", { kind: "failed", cause: notSigned }, "none was asked for (assertion not signed)"],
  ] as const)("%s", async (_, answer, says) => {
    const { clock, login, get } = stageTokens();
    for (let n = 0; n < 5; n++) login.next(answer);
    const failed = expect(get()).rejects.toMatchObject({
      code: "token_unavailable",
      message: expect.stringContaining(says),
    });
    await clock.advance(4_000);
    await failed;
  });

  it("that none came in time, while the refresh continues after a failure", async () => {
    const { clock, login, get } = stageTokens();
    login.next(answered(500));
    const release = login.hold();
    const message = expect.stringContaining("the authorization server issued none in time");
    const failed = expect(get()).rejects.toMatchObject({ code: "token_unavailable", message });
    await clock.advance(5_000);
    await failed;
    release();
  });
});

it("a replica that cannot sign its assertion does not delay other replicas", async () => {
  const { clock, login, get, openSource } = stageTokens();
  for (let n = 0; n < 12; n++) login.next({ kind: "failed", cause: notSigned });
  // Repeated until the replica's own pause is several seconds long.
  while (login.requests < 12) {
    const failed = expect(get()).rejects.toMatchObject({ code: "token_unavailable" });
    await clock.advance(1_000);
    await failed;
  }
  expect(await get(openSource())).toBe("token_13");
});

describe("429", () => {
  it.each([
    { retryAfter: "30", pauseMs: 30_000 },
    { retryAfter: "0", pauseMs: 1_000 },
    { retryAfter: "99999999", pauseMs: 86_400_000 },
  ])("with Retry-After $retryAfter is honoured", async ({ retryAfter, pauseMs }) => {
    const { clock, login, get } = stageTokens();
    login.next(answered(429, "", retryAfter));
    await expect(get()).rejects.toMatchObject({ code: "token_unavailable", retryAfterMs: pauseMs });
    await clock.advance(pauseMs - 1);
    await expect(get()).rejects.toMatchObject({ code: "token_unavailable" });
    expect(login.requests).toBe(1);
    await clock.advance(1);
    expect(await get()).toBe("token_2");
  });

  it.each(["-5", "soon", undefined])("with Retry-After %s backs off by itself", async (retryAfter) => {
    const { clock, login, get } = stageTokens();
    login.next(answered(429, "", retryAfter));
    await expect(get()).rejects.toMatchObject({ code: "token_unavailable" });
    await clock.advance(999);
    await expect(get()).rejects.toMatchObject({ code: "token_unavailable" });
    expect(login.requests).toBe(1);
    await clock.advance(3_000);
    expect(await get()).toBe("token_2");
  });

  it("leaves a valid token in use", async () => {
    const { clock, login, get } = stageTokens();
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
});

describe("refused credentials", () => {
  it.each([400, 401, 403])("with status %i cause one request in 10 s", async (status) => {
    const { clock, login, get } = stageTokens();
    for (let n = 0; n < 100; n++) login.next(answered(status));
    for (let second = 0; second < 60; second++) {
      await expect(get()).rejects.toMatchObject({ code: "credentials_refused", status: 502, outcome: "not_sent" });
      await clock.advance(1_000);
    }
    // The last of the seven is at the end of the minute.
    expect(login.requests).toBe(7);
  });

  it("make the same request switch to the second set, and a later one switch back when they are accepted again", async () => {
    const { clock, login, get, recorder } = stageTokens(["blue", "green"]);
    login.next(answered(401));
    expect(await get()).toBe("token_2");
    expect(login.asked).toEqual(["client-blue", "client-green"]);
    expect(recorder.of("credential_switched").at(-1)).toMatchObject({ from: "S1/blue", to: "S1/green" });
    await clock.advance(9_999);
    expect(await get()).toBe("token_2");
    await clock.advance(1);
    expect(await get()).toBe("token_3");
    expect(login.asked).toEqual(["client-blue", "client-green", "client-blue"]);
    expect(recorder.of("credential_switched").at(-1)).toMatchObject({ from: "S1/green", to: "S1/blue" });
  });

  it("leave a valid token in use until the second set has its own", async () => {
    const { clock, login, get } = stageTokens(["blue", "green"]);
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

  it("of every set are reported by name, without a secret", async () => {
    const { login, get } = stageTokens(["blue", "green"]);
    login.next(answered(401)).next(answered(400));
    const error = await get().catch((reason) => reason);
    expect(error.code).toBe("credentials_refused");
    expect(error.message).toContain('credential "blue" (client client-blue, site S1)');
    expect(error.message).toContain('credential "green" (client client-green, site S1)');
    expect(error.message).not.toContain("secret-");
  });

  it("whose token gets a 401 as well switch sets within the one retry, and that token is not attached again", async () => {
    const { clock, login, source, deadline, get } = stageTokens(["blue", "green"]);
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
    const { clock, login, source, deadline, replace } = stageTokens(["blue", "green"]);
    const refused = await source.get(deadline());
    login.next(answered(401));
    expect(show(await replace(refused))).toBe("token_3");
    const later = [1, 2].map(() => source.replace(refused, "S1", deadline()));
    await clock.advance(0);
    for (const found of await Promise.all(later)) expect(show(found)).toBe("token_3");
    await clock.advance(2_000);
    expect(login.asked).toEqual(["client-blue", "client-blue", "client-green"]);
  });
});
