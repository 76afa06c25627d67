import { describe, expect, it } from "vitest";
import type { Token } from "../../../src/oauth/token.ts";
import { notSigned } from "../../../src/oauth/token-endpoint.ts";
import { answered } from "../../../testkit/token-endpoint-script.ts";
import { hourMs, stageTokens } from "../../../testkit/token-stage.ts";

describe("an authorization server that fails", () => {
  it("is tried five times within a refresh, with back-off, and then when a request wants a token", async () => {
    const { clock, login, get, recorder } = stageTokens();
    for (let n = 0; n < 6; n++) login.next(answered(500));
    const first = expect(get()).rejects.toMatchObject({ code: "token_unavailable" });
    await clock.advance(1_000);
    await first;
    expect(login.requests).toBe(5);
    expect(recorder.of("token_requested").every(({ result }) => result === "failed")).toBe(true);
    await clock.advance(60_000);
    expect(login.requests).toBe(5);
    await expect(get()).rejects.toMatchObject({ code: "token_unavailable" });
    expect(login.requests).toBe(6);
  });

  it("costs one request per pause once it fails, however many ask, and at most 30 s after it is back", async () => {
    const { clock, login, get } = stageTokens();
    for (let n = 0; n < 1_000; n++) login.next({ kind: "failed" });
    for (let second = 0; second < 600; second++) {
      const asked = Promise.allSettled([get(), get(), get()]);
      await clock.advance(1_000);
      await asked;
    }
    // Full jitter with 0.5: pauses of 15 s in the long run.
    expect(login.requests).toBeLessThan(60);
    expect(login.requests).toBeGreaterThan(30);
  });

  it("recovers with the next try", async () => {
    const { clock, login, get } = stageTokens();
    for (let n = 0; n < 5; n++) login.next({ kind: "failed" });
    const failed = expect(get()).rejects.toMatchObject({ code: "token_unavailable" });
    await clock.advance(1_000);
    await failed;
    await clock.advance(1_000);
    expect(await get()).toBe("token_6");
  });

  it("that hangs ends the fetch at its deadline, and the next request starts a new one", async () => {
    const { clock, login, get } = stageTokens();
    login.next({ kind: "timed_out" });
    await expect(get()).rejects.toMatchObject({ code: "token_unavailable" });
    expect(login.requests).toBe(1);
    await clock.advance(1_000);
    expect(await get()).toBe("token_2");
  });

  it("redirects or answers 404, which are failures and not followed", async () => {
    const { clock, login, get, recorder } = stageTokens();
    login.next(answered(307)).next(answered(404));
    const token = get();
    await clock.advance(1_000);
    expect(await token).toBe("token_3");
    expect(recorder.of("token_requested").map(({ result }) => result)).toEqual(["failed", "failed", "issued"]);
  });

  it("answers malformed, which is never a token", async () => {
    const { clock, login, get, recorder } = stageTokens();
    login.next(answered(200, "<html>")).next({ kind: "malformed", cause: "answer too long" });
    const token = get();
    await clock.advance(1_000);
    expect(await token).toBe("token_3");
    expect(recorder.of("token_requested").map(({ result }) => result)).toEqual(["malformed", "malformed", "issued"]);
  });
});

describe("a caller without a token is told", () => {
  it.each([
    { what: "of silence", answer: { kind: "timed_out" }, says: "could not be reached, or gave no complete answer" },
    {
      what: "of a broken connection",
      answer: { kind: "failed", cause: "ECONNRESET" },
      says: "gave no complete answer",
    },
    { what: "the status of a failure", answer: answered(500), says: "the authorization server answered 500. Next try" },
    {
      what: "of 429",
      answer: answered(429, "", "30"),
      says: "the authorization server answered 429. Next try in 30 s",
    },
    { what: "of a 200 without a token", answer: answered(200, "{}"), says: "answered 200, but with no token" },
    {
      what: "of an answer that is too long",
      answer: { kind: "malformed", status: 200, cause: "answer too long" },
      says: "answered 200, but with no token",
    },
    {
      what: "that no request was made",
      answer: { kind: "failed", cause: notSigned },
      says: "the client assertion could not be signed, so none was asked for",
    },
  ] as const)("$what", async ({ answer, says }) => {
    const { clock, login, get } = stageTokens();
    for (let n = 0; n < 5; n++) login.next(answer);
    const failed = expect(get()).rejects.toMatchObject({
      code: "token_unavailable",
      message: expect.stringContaining(says),
    });
    await clock.advance(4_000);
    await failed;
  });

  it("that none came in time, while the refresh goes on after a failure", async () => {
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

it("a replica that cannot sign its assertion holds no other one back", async () => {
  const { clock, login, get, openSource } = stageTokens();
  for (let n = 0; n < 12; n++) login.next({ kind: "failed", cause: notSigned });
  // Until its own pause is several seconds long.
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
  it.each([400, 401, 403])("by %i cost one request in 10 s", async (status) => {
    const { clock, login, get } = stageTokens();
    for (let n = 0; n < 100; n++) login.next(answered(status));
    for (let second = 0; second < 60; second++) {
      await expect(get()).rejects.toMatchObject({ code: "credentials_refused", status: 502, outcome: "not_sent" });
      await clock.advance(1_000);
    }
    expect(login.requests).toBe(6);
  });

  it("switch to the second set with the same request, and back when accepted again", async () => {
    const { clock, login, get, recorder } = stageTokens(["blue", "green"]);
    login.next(answered(401));
    expect(await get()).toBe("token_2");
    expect(login.asked).toEqual(["client-blue", "client-green"]);
    expect(recorder.of("credential_switched").at(-1)).toMatchObject({ from: "S1/blue", to: "S1/green" });
    await clock.advance(10_000);
    expect(await get()).toBe("token_2");
    await clock.advance(0);
    expect(await get()).toBe("token_3");
    expect(login.asked).toEqual(["client-blue", "client-green", "client-blue"]);
    expect(recorder.of("credential_switched").at(-1)).toMatchObject({ from: "S1/green", to: "S1/blue" });
  });

  it("keep a live token in use until the second set has its own", async () => {
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

  it("and by the service too, switch sets within the one retry, and its token is not attached again", async () => {
    const { clock, login, source, get } = stageTokens(["blue", "green"]);
    const refused = await source.get(clock.nowMs() + 20_000);
    login.next(answered(401));
    const release = login.hold();
    const replacing = source.replace(refused, "S1", clock.nowMs() + 20_000);
    await clock.advance(1_000);
    const waiting = get();
    await clock.advance(0);
    release();
    await clock.advance(0);
    expect((await replacing)?.credential).toBe("S1/green");
    expect(await waiting).toBe("token_3");
    expect(login.asked).toEqual(["client-blue", "client-blue", "client-green"]);
  });

  it("and by the service too, leave later 401s with the second set's token, without delay or another request", async () => {
    const { clock, login, source } = stageTokens(["blue", "green"]);
    const replace = (token: Token) => source.replace(token, "S1", clock.nowMs() + 20_000);
    const refused = await source.get(clock.nowMs() + 20_000);
    login.next(answered(401));
    const first = replace(refused);
    await clock.advance(2_000);
    expect((await first)?.secret.reveal()).toBe("token_3");
    const later = [replace(refused), replace(refused)];
    await clock.advance(0);
    for (const token of await Promise.all(later)) expect(token?.secret.reveal()).toBe("token_3");
    await clock.advance(2_000);
    expect(login.asked).toEqual(["client-blue", "client-blue", "client-green"]);
  });
});
