/** Row 45: truncated, oversized and junk answers are 502 unknown or a cut connection, never a complete-looking 200. */
import { expect, it } from "vitest";
import { orderRaw } from "../../../testkit/raw-caller.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, stageProxy } from "../../../testkit/stage.ts";
import { cut, refused } from "../../unit/broken-responses.ts";
import { early } from "../../unit/whole-responses.ts";

/** A service that answers with these bytes and closes, or resets. */
async function answerWith(bytes: string, how: "close" | "reset" | "stay" = "close") {
  const upstream = await startRawUpstream({
    answer: (_request, socket) =>
      socket.write(bytes, "latin1", () => {
        if (how === "reset") setTimeout(() => socket.resetAndDestroy(), 20);
        if (how === "close") socket.end();
      }),
  });
  const stage = await stageProxy({ baseUrl: upstream.url });
  const answer = await orderRaw(stage.port, { "Countersign-Site": hmacSite });
  return { answer, upstream, end: await stage.recorder.nth("request_finished", 1) };
}

const ok = "HTTP/1.1 200 OK\r\n";

const inChunks = "2\r\n{}\r\n0\r\n\r\n";
/** Read, but not passed on: a caller could not take the body out of them. */
const codings = [
  "Transfer-Encoding: gzip, chunked\r\n",
  "Transfer-Encoding: chunked, chunked\r\n",
  "Transfer-Encoding: chunked\r\n".repeat(2),
  "Transfer-Encoding: chunked\xa0\r\n",
  "Transfer-Encoding: GZIP\r\n",
].map((lines) => ["", lines, `${ok}${lines}\r\n${inChunks}`] as const);

it("is 502 upstream_bad_response, unknown, whatever the reader refuses of a head", async () => {
  const rows = [...refused.filter(([code]) => !/^(CHUNK|TRAILER)/.test(code)), ...codings];
  const upstream = await startRawUpstream({ answer: rows.map(([, , bytes]) => bytes) });
  const { port, recorder } = await stageProxy({ baseUrl: upstream.url });
  for (const [at, [, title]] of rows.entries()) {
    const answer = await orderRaw(port, { "Countersign-Site": hmacSite });
    const told = { status: answer.status, isComplete: answer.isComplete, ...JSON.parse(answer.body) };
    const code = "upstream_bad_response";
    expect.soft(told, title).toMatchObject({ status: 502, isComplete: true, code, outcome: "unknown" });
    const finished = { code, outcome: "unknown", attempts: 1 };
    expect.soft(await recorder.nth("request_finished", at + 1), title).toMatchObject(finished);
    expect.soft(upstream.requests, title).toHaveLength(at + 1);
  }
});

it("is 502 upstream_reset, unknown, wherever it ends before a byte of its body", async () => {
  const rows = cut.filter(([, bytes]) => !/\r\n\r\n./s.test(bytes.replace(early, "")));
  const upstream = await startRawUpstream({
    answer: ({ number }, socket) => void socket.end(rows[number - 1]?.[1] ?? "", "latin1"),
  });
  const { port, recorder } = await stageProxy({ baseUrl: upstream.url });
  for (const [at, [title]] of rows.entries()) {
    const answer = await orderRaw(port, { "Countersign-Site": hmacSite });
    const code = answer.value("countersign-error");
    expect.soft({ status: answer.status, code }, title).toEqual({ status: 502, code: "upstream_reset" });
    const finished = { outcome: "unknown", by: "countersign", attempts: 1 };
    expect.soft(await recorder.nth("request_finished", at + 1), title).toMatchObject(finished);
    expect.soft(upstream.requests, title).toHaveLength(at + 1);
  }
});

it.each([
  ["half of a body with its length announced", `${ok}Content-Length: 20\r\n\r\n{"order_`, "close"],
  ["all but one byte of it", `${ok}Content-Length: 20\r\n\r\n0123456789012345678`, "close"],
  ["chunks without the last one", `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`, "close"],
  ["half a chunk", `${ok}Transfer-Encoding: chunked\r\n\r\n20\r\n{"order_`, "close"],
  ["a chunk size that is no number", `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n`, "stay"],
  ["a reset in a body that the close would end", `${ok}\r\n{"order_`, "reset"],
] as const)(
  "an answer that ends too early is a cut connection where a part had been passed on: %s",
  async (_name, bytes, how) => {
    const { answer, upstream, end } = await answerWith(bytes, how);
    expect([200, 502]).toContain(answer.status);
    expect(answer.status === 200 && answer.isComplete).toBe(false);
    expect(upstream.requests).toHaveLength(1);
    expect(end.code).toMatch(/^upstream_(reset|bad_response)$/);
    expect(end).toMatchObject({ outcome: "unknown", attempts: 1 });
  },
);

it("passes on a body that is ended by the close, as HTTP allows, and ends it by the close too", async () => {
  const { answer, end } = await answerWith("HTTP/1.0 200 OK\r\nX-Old: yes\r\n\r\n{}");
  // Nobody can tell it from a part of a longer one, so it gets no end that the service did not give it.
  expect(answer).toMatchObject({ status: 200, body: "{}", isComplete: false });
  expect([answer.value("connection"), answer.value("transfer-encoding")]).toEqual(["close", undefined]);
  expect(end).toMatchObject({ outcome: "answered", code: undefined });
});
