/** Row 32: what is not surely a bearer token is none, and nothing is sent with it. No redirect is followed. */
import { describe, expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { stageLiving } from "../../../testkit/living-stage.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { stageProxy } from "../../../testkit/stage.ts";

/** What the authorization server issues, `{{token}}` standing for it, with some fields changed; `undefined` leaves one out. */
function grant(changes: Record<string, unknown> = {}): string {
  return JSON.stringify({ access_token: "{{token}}", token_type: "Bearer", expires_in: 3_600, ...changes });
}

const timeouts = { requestMs: 30_000, connectMs: 10_000, tokenMs: 20_000 };

/**
 * The next token answers have this body; the token at hand has expired. No pauses between the five tries of a refresh, and as long a
 * one as there is before the sixth.
 */
async function stageAnswer(body: string, status = 200, headers: Record<string, string> = {}) {
  let asked = () => 0;
  const random = () => (asked() > 5 ? 0.999 : 0);
  const stage = await stageLiving({ timeouts, surroundings: { random } });
  const { simulator } = stage;
  asked = () => simulator.counts().tokenRequests;
  simulator.faults.add({
    host: "login",
    kind: "answer",
    status,
    headers,
    body,
    executes: true,
    times: "until_cleared",
  });
  stage.expire();
  return stage;
}

it.each([
  ["HTML", "<!doctype html><title>Log in</title>"],
  ["empty", ""],
  ["half of one", grant().slice(0, 40)],
  ["null", "null"],
  ["an array", `[${grant()}]`],
  ["a string", '"{{token}}"'],
  ["without a token", grant({ access_token: undefined })],
  ["with the token null", grant({ access_token: null })],
  ["with a number as token", grant({ access_token: 12_345 })],
  ["with an object as token", grant({ access_token: { value: "{{token}}" } })],
  ["with an empty token", grant({ access_token: "" })],
  ['with the token "undefined"', grant({ access_token: "undefined" })],
  ['with the token "null"', grant({ access_token: "null" })],
  ["with CR and LF in the token", grant({ access_token: "{{token}}\r\nX-Evil: 1" })],
  ["with LF at the end of the token", grant({ access_token: "{{token}}\n" })],
  ["with a space in the token", grant({ access_token: "{{token}} b" })],
  ["with letters beyond ASCII in the token", grant({ access_token: "{{token}}é" })],
  ["with a token of 17 KB", grant({ access_token: "x".repeat(17_000) })],
  ["with expires_in NaN", grant().replace("3600", "NaN")],
  ['with expires_in "NaN"', grant({ expires_in: "NaN" })],
  ["with expires_in -1", grant({ expires_in: -1 })],
  ['with expires_in "-1"', grant({ expires_in: "-1" })],
  ["with expires_in 0", grant({ expires_in: 0 })],
  ['with expires_in "0"', grant({ expires_in: "0" })],
  ["with expires_in null", grant({ expires_in: null })],
  ["with expires_in true", grant({ expires_in: true })],
  ['with expires_in "1e3"', grant({ expires_in: "1e3" })],
  ["with expires_in 1e400", grant().replace("3600", "1e400")],
  ["without a token_type", grant({ token_type: undefined })],
  ["with token_type mac", grant({ token_type: "mac" })],
  ["with token_type null", grant({ token_type: null })],
  ["of 5 MB", grant({ padding: "x".repeat(5_000_000) })],
])("a token answer is refused %s", async (_name, body) => {
  const { url, simulator, recorder, clock } = await stageAnswer(body);
  const answer = await call(url);
  expect(answer.json).toMatchObject({ status: 503, code: "token_unavailable", outcome: "not_sent" });
  const results = recorder.of("token_requested").map(({ result }) => result);
  expect(results.slice(0, 6)).toEqual(["issued", ...Array(5).fill("malformed")]);
  expect(simulator.counts().apiRequests).toBe(1);
  simulator.faults.clear();
  clock.push(30_000);
  expect((await call(url)).status).toBe(200);
});

describe("a token answer is used", () => {
  const dayMs = 86_400_000;

  it.each([
    ["as it should be", grant(), 3_600_000],
    ["with expires_in as digits in a string", grant({ expires_in: "3600" }), 3_600_000],
    ["without expires_in: 300 s", grant({ expires_in: undefined }), 300_000],
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

  it("however short its life, refreshes are at least a second apart", async () => {
    const startMs = Date.now();
    // An order may be on its way for a while on a busy machine: at the service a token lives ten times as long.
    const nowMs = () => startMs + (Date.now() - startMs) / 10;
    const { url, simulator } = await stageProxy({ simulator: { tokenLifetimeSeconds: 1, nowMs }, oneSet: true });
    while (simulator.counts().tokenRequests < 4) expect((await call(url)).status).toBe(200);
    expect(Date.now() - startMs).toBeGreaterThanOrEqual(3_000);
    expect(simulator.counts().unauthorized).toBe(0);
  });
});

it.each([301, 302, 303, 307, 308])("a redirect %i of the authorization server is never followed", async (status) => {
  const elsewhere = await startRawUpstream({ answer: rawAnswer(200, grant()) });
  const { url, simulator } = await stageAnswer("", status, { Location: `${elsewhere.url}/oauth/token` });
  expect((await call(url)).json).toMatchObject({ status: 503, code: "token_unavailable", outcome: "not_sent" });
  expect(elsewhere.connections).toBe(0);
  expect(simulator.counts().tokenRequests).toBeGreaterThanOrEqual(6);
  expect(simulator.counts().apiRequests).toBe(1);
});
