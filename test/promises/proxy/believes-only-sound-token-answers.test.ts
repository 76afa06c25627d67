/**
 * An answer that is not certainly a bearer token is no token, and is never sent. No redirect is followed. A 429's
 * Retry-After is honoured from 1 s to 24 h. A refused set is tried once in 10 s while the second serves; both refused: 502 credentials_refused.
 */
import { describe, expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { canaries, oauthSite, stage } from "../../../testkit/stage.ts";

const dayMs = 86_400_000;
const timeouts = { requestMs: 30_000, connectMs: 10_000, tokenMs: 20_000 };

it.each([
  ["empty", "", "not a JSON object"],
  ["half of a token answer", grant().slice(0, 40), "not a JSON object"],
  ["a string", '"{{token}}"', "not a JSON object"],
  ["an array", "[]", "not a JSON object"],
  ["null", "null", "not a JSON object"],
  ["without a token", grant({ access_token: undefined }), "access_token"],
  ["with an empty token", grant({ access_token: "" }), "access_token"],
  ["with the token null", grant({ access_token: null }), "access_token"],
  ["with an object as token", grant({ access_token: { value: "{{token}}" } }), "access_token"],
  ['with the token "undefined"', grant({ access_token: "undefined" }), "access_token"],
  ['with the token "null"', grant({ access_token: "null" }), "access_token"],
  ["with CR and LF in the token", grant({ access_token: "{{token}}\r\nX-Evil: 1" }), "access_token"],
  ["with LF at the end of the token", grant({ access_token: "{{token}}\n" }), "access_token"],
  ["with a space in the token", grant({ access_token: "{{token}} b" }), "access_token"],
  ["with letters beyond ASCII in the token", grant({ access_token: "{{token}}é" }), "access_token"],
  ["with a token of 17 KB", grant({ access_token: "x".repeat(17_000) }), "access_token"],
  ["with expires_in -1", grant({ expires_in: -1 }), "expires_in"],
  ["with expires_in 0", grant({ expires_in: 0 }), "expires_in 0"],
  ['with expires_in "0"', grant({ expires_in: "0" }), "expires_in 0"],
  ['with expires_in "1e3"', grant({ expires_in: "1e3" }), "expires_in"],
  ["with expires_in null", grant({ expires_in: null }), "expires_in"],
  ["with expires_in 1e999", grant().replace("3600", "1e999"), "expires_in"],
  ["with expires_in true", grant({ expires_in: true }), "expires_in"],
  ["without a token_type", grant({ token_type: undefined }), "token_type"],
  ["with token_type mac", grant({ token_type: "mac" }), "token_type"],
  ["with token_type null", grant({ token_type: null }), "token_type"],
  ["of 5 MB", grant({ padding: "x".repeat(5_000_000) }), "answer too long"],
])("a token answer is refused %s", async (_name, body, fault) => {
  const { url, simulator, recorder, clock } = await stageAnswer(body);
  const answer = await call(url);
  expect(answer.json).toMatchObject({ status: 503, code: "token_unavailable", outcome: "not_sent" });
  expect(answer.json.detail).toContain(
    `the authorization server answers, but not with a token (200, ${fault}); see what`,
  );
  const results = recorder.of("token_requested").map(({ result }) => result);
  expect(results.slice(0, 6)).toEqual(["issued", ...Array(5).fill("malformed")]);
  expect(simulator.counts().apiRequests).toBe(1);
  simulator.faults.clear();
  clock.push(30_000);
  expect((await call(url)).status).toBe(200);
});

describe("a token answer is used", () => {
  it.each([
    ["as the specification has it", grant(), 3_600_000],
    ["with expires_in as digits in a string", grant({ expires_in: "3600" }), 3_600_000],
    ["without expires_in: 300 s", grant({ expires_in: undefined }), 300_000],
    ["with expires_in as 12 digits in a string: 7 days", grant({ expires_in: "999999999999" }), 7 * dayMs],
    ["with expires_in 1e12: 7 days", grant().replace("3600", "1e12"), 7 * dayMs],
    ["with a fraction of a second", grant({ expires_in: 3_600.9 }), 3_600_000],
    ["with token_type bearer", grant({ token_type: "bearer" }), 3_600_000],
    ["with token_type BEARER", grant({ token_type: "BEARER" }), 3_600_000],
    ["with more fields", grant({ scope: "site:1", refresh_token: null }), 3_600_000],
  ])("%s", async (_name, body, lifetimeMs) => {
    const { url, simulator, recorder } = await stageAnswer(body);
    expect((await call(url)).status).toBe(200);
    expect(simulator.seen.apiRequests.map(({ token }) => token)).toEqual(["token_1", "token_2"]);
    expect(await recorder.nth("token_adopted", 2)).toMatchObject({ lifetimeMs, issuedHere: true });
  });

  it("with any lifetime, but refreshes are at least a second apart", async () => {
    const startMs = Date.now();
    // On a busy machine an order may take long: at the service a token is valid ten times as long.
    const nowMs = () => startMs + (Date.now() - startMs) / 10;
    const { url, simulator } = await stage({ simulator: { tokenLifetimeSeconds: 1, nowMs }, oneSet: true });
    while (simulator.counts().tokenRequests < 4) expect((await call(url)).status).toBe(200);
    expect(Date.now() - startMs).toBeGreaterThanOrEqual(3_000);
    expect(simulator.counts().unauthorized).toBe(0);
  });
});

it.each([301, 302, 303, 307, 308, 404])(
  "a %i of the authorization server is no token, and its Location is not followed",
  async (status) => {
    const elsewhere = await startRawUpstream({ answer: rawAnswer(200, grant()) });
    const { url, simulator } = await stageAnswer("", status, { Location: `${elsewhere.url}/oauth/token` });
    const answer = await call(url);
    expect(answer.json).toMatchObject({ status: 503, code: "token_unavailable", outcome: "not_sent" });
    expect(answer.json.detail).toContain(`the authorization server is no token endpoint (${status}); correct authUrl`);
    expect(elsewhere.connections).toBe(0);
    expect(simulator.counts().tokenRequests).toBeGreaterThanOrEqual(6);
    expect(simulator.counts().apiRequests).toBe(1);
  },
);

const inAMinute = () => new Date(Date.now() + 60_000).toUTCString();
/** The sixth pause if the random number is a half: half of 50 ms * 2^6. */
const backoffMs = 1_600;

it.each([
  ["seconds", () => "7", 7_000, 7_000],
  ["one second", () => "1", 1_000, 1_000],
  ["zero", () => "0", 1_000, 1_000],
  ["more than a day", () => "86401", dayMs, dayMs],
  ["a number of 400 digits", () => "9".repeat(400), dayMs, dayMs],
  ["a date", inAMinute, 57_000, 61_000],
  ["a date in the past", () => "Tue, 02 Jan 2024 03:04:05 GMT", 1_000, 1_000],
  ["a date in 2126", () => "Fri, 02 Jan 2126 03:04:05 GMT", dayMs, dayMs],
  ["negative", () => "-5", backoffMs, backoffMs],
  ["a fraction", () => "1.5", backoffMs, backoffMs],
  ["a word", () => "soon", backoffMs, backoffMs],
  ["a number in hex", () => "0x10", backoffMs, backoffMs],
  ["a day without a time", () => "2026-11-21", backoffMs, backoffMs],
  ["a day that no month has", () => "Sat, 99 Nov 2026 12:00:00 GMT", backoffMs, backoffMs],
  ["empty", () => "", backoffMs, backoffMs],
  ["absent", () => undefined, backoffMs, backoffMs],
])("429 with Retry-After: %s", async (_name, retryAfter, leastMs, mostMs) => {
  const { url, simulator, recorder, clock, expire } = await stage("living");
  const value = retryAfter();
  const headers: Record<string, string> = value === undefined ? {} : { "Retry-After": value };
  simulator.faults.add({ host: "login", kind: "answer", status: 429, headers, times: "until_cleared" });
  expire();
  const answer = await call(url);
  expect(answer.json).toMatchObject({ status: 503, code: "token_unavailable", outcome: "not_sent" });
  expect(answer.json.detail).toContain("the authorization server gets too many token requests (429); wait");
  const { pauseMs = 0, result } = await recorder.nth("token_requested", 2);
  expect(result).toBe("throttled");
  expect(pauseMs).toBeGreaterThan(leastMs - 100);
  expect(pauseMs).toBeLessThan(mostMs + 100);
  const told = Number(answer.headers["retry-after"]);
  expect(told).toBeGreaterThanOrEqual(Math.floor(leastMs / 1_000));
  expect(told).toBeLessThanOrEqual(Math.ceil(mostMs / 1_000));

  clock.push(pauseMs - 700);
  for (let n = 0; n < 2; n++) expect((await call(url)).status).toBe(503);
  expect(simulator.counts()).toMatchObject({ tokenRequests: 2, apiRequests: 1 });

  simulator.faults.clear();
  clock.push(700);
  expect((await call(url)).status).toBe(200);
  expect(simulator.counts()).toMatchObject({ tokenRequests: 3, tokensIssued: 2, apiRequests: 2 });
});

it.each([
  ["429", "throttled", 60_000],
  ["401", "refused", 10_000],
])("a %s counts as %s although its body breaks off", async (status, result, pauseMs) => {
  const login = await startRawUpstream({
    answer: (_, socket) => void socket.end(`HTTP/1.1 ${status} No\r\nRetry-After: 60\r\nContent-Length: 9\r\n\r\nhalf`),
  });
  const { recorder } = await stage({ authUrl: login.url, oneSet: true });
  expect(await recorder.nth("token_requested", 1)).toMatchObject({
    result,
    pauseMs: expect.closeTo(pauseMs, -3),
  });
});

describe("credentials that every set has refused:", () => {
  it.each([400, 401, 403])("502 credentials_refused, not_sent, after a %i", async (status) => {
    const { url, simulator, expire } = await stage("living");
    simulator.faults.add({ host: "login", kind: "answer", status, times: "until_cleared" });
    expire();
    const answer = await call(url);
    expect(answer.status).toBe(502);
    expect(answer.headers["countersign-error"]).toBe("credentials_refused");
    expect(answer.json).toMatchObject({ code: "credentials_refused", outcome: "not_sent" });
    expect(answer.json.detail).toContain(`refused credential "blue" (client blue-id, site ${oauthSite}); no other set`);
    expect(answer.json.detail).toMatch(/Next try in 10 s, or at once when the secret changes\. Nothing was sent\.$/);
    expect(answer.text).not.toContain(canaries.blue);
    expect(simulator.counts().apiRequests).toBe(1);
  });

  it("one token request in 10 s, however many orders come", async () => {
    const { url, simulator, clock, expire } = await stage("living");
    simulator.changeClientSecret("blue-id", "another");
    expire();
    const requests: number[] = [];
    for (const pushMs of [0, 2_000, 9_000, 2_000, 9_000]) {
      clock.push(pushMs);
      const answers = await Promise.all(Array.from({ length: 20 }, () => call(url)));
      expect(answers.map(({ json }) => json.code)).toEqual(Array(20).fill("credentials_refused"));
      requests.push(simulator.counts().tokenRequests - 1);
    }
    expect(requests).toEqual([1, 1, 2, 2, 3]);
    expect(simulator.counts().apiRequests).toBe(1);
  });
});

describe("the second set", () => {
  it("takes over at once, with no failed call, while the first is tried once in 10 s", async () => {
    const { url, simulator, clock, expire, recorder } = await stage("living", { oneSet: false });
    simulator.deleteCredentials("blue-id");
    expire();
    for (let n = 0; n < 20; n++) expect((await call(url)).status).toBe(200);
    expect(simulator.seen.tokenRequests.map(({ clientId }) => clientId)).toEqual(["blue-id", "blue-id", "green-id"]);
    const [from, to] = [`${oauthSite}/blue`, `${oauthSite}/green`];
    const switched = { kind: "credential_switched", environment: "sandbox", site: oauthSite, from, to };
    expect(recorder.of("credential_switched")).toEqual([switched]);
    clock.push(10_000);
    for (let n = 0; n < 20; n++) expect((await call(url)).status).toBe(200);
    await simulator.seen.whenTokenAnswers(4);
    expect(simulator.seen.tokenRequests.map(({ clientId }) => clientId).slice(3)).toEqual(["blue-id"]);
    expect(simulator.counts()).toMatchObject({ accepted: 41, apiRequests: 41, tokensIssued: 2 });
  });

  it("is used no longer when the first is accepted again", async () => {
    const { url, simulator, clock, expire, recorder } = await stage("living", { oneSet: false });
    simulator.deleteCredentials("blue-id");
    expire();
    expect((await call(url)).status).toBe(200);
    simulator.restoreCredentials("blue-id");
    clock.push(10_000);
    expect((await call(url)).status).toBe(200);
    await recorder.nth("token_adopted", 3);
    expect((await call(url)).status).toBe(200);
    expect(recorder.of("credential_switched").map(({ to }) => to)).toEqual([`${oauthSite}/green`, `${oauthSite}/blue`]);
    expect(simulator.seen.apiRequests.at(-1)?.token).toBe("token_3");
  });

  it("gets no token request while the first one's token is valid", async () => {
    const { url, simulator } = await stage("living", { oneSet: false });
    simulator.deleteCredentials("blue-id");
    for (let n = 0; n < 20; n++) expect((await call(url)).status).toBe(200);
    expect(simulator.seen.tokenRequests.map(({ clientId }) => clientId)).toEqual(["blue-id"]);
  });
});

/** The authorization server's answer, with some fields changed; `undefined` leaves a field out, `{{token}}` becomes the token. */
function grant(changes: Record<string, unknown> = {}): string {
  return JSON.stringify({ access_token: "{{token}}", token_type: "Bearer", expires_in: 3_600, ...changes });
}

/**
 * The next token answers have this body; the present token has expired. There is no pause between the five tries of a refresh, and the
 * longest possible pause before the sixth.
 */
async function stageAnswer(body: string, status = 200, headers: Record<string, string> = {}) {
  let asked = () => 0;
  const random = () => (asked() > 5 ? 0.999 : 0);
  const staged = await stage("living", { timeouts, surroundings: { random } });
  const { simulator } = staged;
  asked = () => simulator.counts().tokenRequests;
  const answer = { kind: "answer", status, headers, body, executes: true } as const;
  simulator.faults.add({ host: "login", times: "until_cleared", ...answer });
  staged.expire();
  return staged;
}
