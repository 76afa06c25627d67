/**
 * Truncated, oversized and junk answers are 502 unknown or a cut connection, never a complete-looking 200, and nothing is
 * sent twice (breaks anywhere: `breaks-at-ten-thousand-points`).
 */
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { order } from "../../../testkit/call.ts";
import { orderRaw, orderToTheEnd } from "../../../testkit/raw-caller.ts";
import { type RawBehaviour, rawAnswer } from "../../../testkit/raw-upstream.ts";
import { hmacSite, stage } from "../../../testkit/stage.ts";
import { cut, refused } from "../../unit/broken-responses.ts";
import { early } from "../../unit/whole-responses.ts";

const signed = { "Countersign-Site": hmacSite };
/** An order that needs more than one read. */
const large = { ...order, padding: "x".repeat(200_000) };

const resets = (socket: Socket) => void socket.resetAndDestroy();
const closes = (socket: Socket) => void socket.destroy();

const ok = "HTTP/1.1 200 OK\r\n";

const inChunks = "2\r\n{}\r\n0\r\n\r\n";
/** Codings that are read, but not passed on: a caller could not decode the body. */
const codings = [
  "Transfer-Encoding: gzip, chunked\r\n",
  "Transfer-Encoding: chunked, chunked\r\n",
  "Transfer-Encoding: chunked\r\n".repeat(2),
  "Transfer-Encoding: chunked\xa0\r\n",
  "Transfer-Encoding: GZIP\r\n",
].map((lines) => ["", lines, `${ok}${lines}\r\n${inChunks}`] as const);

it("a head that the reader refuses is 502 upstream_bad_response, unknown", async () => {
  const rows = [...refused.filter(([code]) => !/^(CHUNK|TRAILER)/.test(code)), ...codings];
  const limits = { responseHeaderBytes: 16_384 };
  const { port, recorder, upstream } = await stage("service", { answer: rows.map(([, , bytes]) => bytes) }, { limits });
  for (const [at, [, title]] of rows.entries()) {
    const answer = await orderRaw(port, signed);
    const told = { status: answer.status, isComplete: answer.isComplete, ...JSON.parse(answer.body) };
    const code = "upstream_bad_response";
    expect.soft(told, title).toMatchObject({ status: 502, isComplete: true, code, outcome: "unknown" });
    const finished = { code, outcome: "unknown", attempts: 1 };
    expect.soft(await recorder.nth("request_finished", at + 1), title).toMatchObject(finished);
    expect.soft(upstream.requests, title).toHaveLength(at + 1);
  }
});

it("an answer that ends before a byte of its body is 502 upstream_reset, unknown", async () => {
  const rows = cut.filter(([, bytes]) => !/\r\n\r\n./s.test(bytes.replace(early, "")));
  const { port, recorder, upstream } = await stage("service", {
    answer: ({ number }, socket) => void socket.end(rows[number - 1]?.[1] ?? "", "latin1"),
  });
  for (const [at, [title]] of rows.entries()) {
    const answer = await orderRaw(port, signed);
    const code = answer.value("countersign-error");
    expect.soft({ status: answer.status, code }, title).toEqual({ status: 502, code: "upstream_reset" });
    const finished = { outcome: "unknown", by: "countersign", attempts: 1, cause: "CONNECTION_CLOSED" };
    expect.soft(await recorder.nth("request_finished", at + 1), title).toMatchObject(finished);
    expect.soft(upstream.requests, title).toHaveLength(at + 1);
  }
});

/** Too long to be read ahead. */
const longText = "x".repeat(100_000);

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const inPieces = `${ok}Transfer-Encoding: chunked\r\n\r\n`;

it("an answer whose body becomes malformed is 502 upstream_bad_response", async () => {
  const later = (socket: Socket) => void setTimeout(() => socket.write("zz\r\n"), 20);
  const { answer, end } = await orderOnce(writing(inPieces + chunk("{}"), later));
  const code = "upstream_bad_response";
  expect(answer).toMatchObject({ status: 502, isComplete: true });
  expect(JSON.parse(answer.body)).toMatchObject({ code, outcome: "unknown" });
  expect(end).toMatchObject({ code, outcome: "unknown", attempts: 1, status: 502, by: "countersign" });
});

it("a long answer whose body becomes malformed is a cut connection", async () => {
  let spoil = () => {};
  const { port, finished } = await stage("service", {
    answer(_request, socket) {
      spoil = () => void socket.write("zz\r\n");
      socket.write(inPieces + chunk(longText));
    },
  });
  const more = [`Countersign-Site: ${hmacSite}`];
  const { answer } = await orderToTheEnd({ port, host: "127.0.0.1" }, { more }, { onAnswer: () => spoil() });
  expect(answer).toMatchObject({ status: 200, isComplete: false });
  const code = "upstream_bad_response";
  expect(await finished()).toMatchObject({ code, outcome: "unknown", attempts: 1, status: 200, by: "service" });
});

const body = "x".repeat(300);
const head = rawAnswer(200, body).slice(0, -body.length);

it.each<[string, string, RawBehaviour]>([
  ["reset while the request is on its way", "send", { receive: (_bytes, socket) => resets(socket) }],
  ["reset behind the answer's head", "stream_answer", writing(head, resets)],
  ["closed behind the answer's head", "stream_answer", writing(head, closes)],
  ["reset in the middle of its body", "stream_answer", writing(head + body.slice(1), resets)],
  ["closed in the middle of its body", "stream_answer", writing(head + body.slice(1), closes)],
])("a broken answer is 502 upstream_reset with advice, not a bare close: %s", async (_, stage, service) => {
  const { answer, end } = await orderOnce(service);
  expect(answer.status).toBe(502);
  expect(answer.value("countersign-error")).toBe("upstream_reset");
  expect(answer.value("countersign-outcome")).toBe("unknown");
  expect(JSON.parse(answer.body)).toMatchObject({ code: "upstream_reset", outcome: "unknown" });
  expect(JSON.parse(answer.body).detail).toMatch(/The order may exist: look for request [0-9a-f-]{36} before/);
  expect(JSON.parse(answer.body).detail.startsWith("The service answered 200. ")).toBe(stage === "stream_answer");
  expect(end).toMatchObject({ stage, code: "upstream_reset", status: 502, by: "countersign", outcome: "unknown" });
});

/** One order to a service that behaves so; expects that the order is sent once. */
async function orderOnce(service: RawBehaviour) {
  const { port, upstream, finished } = await stage("service", service);
  const answer = await orderRaw(port, signed, large);
  expect(upstream).toMatchObject({ connections: 1, spoken: 1 });
  return { answer, upstream, end: await finished() };
}

/** A service that writes these bytes, and then does `then`. */
function writing(bytes: string, then: (socket: Socket) => void): RawBehaviour {
  return {
    answer: (_request, socket) => void socket.write(bytes, "latin1", () => then(socket)),
  };
}
