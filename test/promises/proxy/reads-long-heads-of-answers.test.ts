/** The head of an answer may have `limits.responseHeaderBytes`; a longer one is `unknown`, and the failure names the setting. */
import { expect, it } from "vitest";
import { ResponseReader } from "../../../src/adapters/http-client/response-reader.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { answering } from "../../../testkit/stage/callbacks.ts";
import { hmacSite, stage } from "../../../testkit/stage.ts";
import { expectProblem, freshCallback, sendJson } from "../callbacks/sender.ts";

const signed = { more: [`Countersign-Site: ${hmacSite}`] };
const usualBytes = 65_536;
const named = /limits\.responseHeaderBytes/;

it.each([
  [usualBytes, {}],
  [200_000, { responseHeaderBytes: 200_000 }],
  [16_384, { responseHeaderBytes: 16_384 }],
])("an answer with a head of %i bytes passes, and one byte more is refused (%j)", async (bytes, limits) => {
  const answers = [answerOf(bytes), answerOf(bytes + 1)];
  const { port, recorder, upstream } = await stage("service", { answer: answers }, { limits });
  const passed = await ask(port, signed);
  expect(passed).toMatchObject({ status: 200, headers: { "countersign-outcome": "answered" } });
  expect(String(passed.headers["x-long"]).length).toBeGreaterThan(bytes - 100);
  const refused = await ask(port, signed);
  expectFailure(refused, { status: 502, code: "upstream_bad_response", outcome: "unknown", detail: named });
  expect(recorder.of("request_finished").map(({ cause }) => cause)).toEqual([undefined, "limits.responseHeaderBytes"]);
  expect(upstream.requests).toHaveLength(2);
});

it("the shortest lines do not make a head of any size: more than 4,096 are refused", async () => {
  const lines = "a:\r\n".repeat(4_097);
  const { port } = await stage("service", { answer: `HTTP/1.1 200 OK\r\n${lines}Content-Length: 0\r\n\r\n` });
  const refused = await ask(port, signed);
  expectFailure(refused, { status: 502, code: "upstream_bad_response", outcome: "unknown", detail: named });
});

it("a reload changes the limit", async () => {
  const { port, reload, config } = await stage("service", { answer: answerOf(100_000) });
  expect((await ask(port, signed)).status).toBe(502);
  await reload({ limits: { ...config.limits, responseHeaderBytes: 100_000 } });
  expect((await ask(port, signed)).status).toBe(200);
});

it("a head that arrives is charged to the budget, and freed at the end", async () => {
  const bytes = answerOf(60_000);
  let finish = () => {};
  const { port, metrics, upstream } = await stage("service", {
    answer: (_, socket) => {
      socket.write(bytes.slice(0, 50_000));
      finish = () => socket.write(bytes.slice(50_000));
    },
  });
  const used = async () => (await metrics()).value("countersign_buffered_bytes") ?? 0;
  const answer = ask(port, signed);
  await upstream.whenRequests(1);
  await expect.poll(used).toBeGreaterThan(32_768 + 49_000);
  finish();
  expect((await answer).status).toBe(200);
  await expect.poll(used).toBe(0);
});

it("of an answer only the head is charged as one, with what its lines take", () => {
  const reader = new ResponseReader(usualBytes);
  const heldOf = (bytes: string) => {
    reader.begin();
    reader.read(Buffer.from(bytes, "latin1"), bytes.length);
    return reader.heldBytes;
  };
  const long = answerOf(50_000, "x".repeat(10_000));
  expect(heldOf(long)).toBe(50_000 + 2 * 96);
  expect(heldOf(long.slice(0, 40_000))).toBe(40_000);
  expect(heldOf(answerOf(100, "x".repeat(60_000)))).toBe(100 + 2 * 96);
});

it("a token's answer with a long head is used; one that is too long names the setting", async () => {
  const grant = JSON.stringify({ access_token: "canary-token", token_type: "Bearer", expires_in: 3_600 });
  const login = await startRawUpstream({ answer: answerOf(60_000, grant) });
  const good = await stage({ authUrl: login.url, oneSet: true });
  await good.recorder.nth("token_adopted", 1);
  const tooLong = await startRawUpstream({ answer: answerOf(70_000, grant) });
  const bad = await stage({ authUrl: tooLong.url, oneSet: true });
  expect(await bad.recorder.nth("token_requested", 1)).toMatchObject({ cause: "limits.responseHeaderBytes" });
});

it.each([
  // Node.js does not count each byte.
  [usualBytes - 100, 200],
  [usualBytes + 100, 502],
])("pass-through: a head of %i bytes is answered %i", async (bytes, status) => {
  const { send: sendRoute } = await stage("route", { answer: answerOf(bytes) }, { oneSet: true });
  const answer = await sendRoute("GET /files/a");
  expect(answer.status).toBe(status);
  if (status === 502) expect(answer.text).toMatch(named);
});

it("callbacks: an application's answer with a long head is taken, and a failure by a longer one names the setting", async () => {
  const good = await stage("application", answering(answerOf(60_000)));
  expect((await sendJson(good.callbackPort, freshCallback())).status).toBe(200);
  const bad = await stage("application", answering(answerOf(usualBytes + 1)));
  const { detail } = expectProblem(await sendJson(bad.callbackPort, freshCallback()), "application_failed", "unknown");
  expect(detail).toMatch(named);
});

/** An answer whose head has this many bytes. */
function answerOf(headBytes: number, body = "{}"): string {
  const [start, end] = ["HTTP/1.1 200 OK\r\nX-Long: ", `\r\nContent-Length: ${body.length}\r\n\r\n`];
  return `${start}${"x".repeat(headBytes - start.length - end.length)}${end}${body}`;
}
