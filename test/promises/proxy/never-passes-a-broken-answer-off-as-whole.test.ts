/** Row 45: truncated, oversized and junk answers are 502 unknown or a cut connection, never a complete-looking 200. */
import { describe, expect, it } from "vitest";
import { orderRaw } from "../../../testkit/raw-order.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, stageProxy } from "../../../testkit/stage.ts";

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

describe("an answer that is not HTTP/1.1", () => {
  it.each<[string, string]>([
    ["junk", "\x00\x01\x02 nothing like it \xff\xfe\r\n\r\n"],
    ["a greeting of another protocol", "220 mail.example ESMTP\r\n"],
    ["HTML without a head", "<html><body>Bad gateway</body></html>"],
    ["a status that is no number", "HTTP/1.1 2OO OK\r\nContent-Length: 2\r\n\r\n{}"],
    ["a version that does not exist", "HTTP/9.7 200 OK\r\nContent-Length: 2\r\n\r\n{}"],
    ...["HTTP/2.0", "HTTP/2", "HTTP/0.9", "HTTP/1.2", "HTTP/1", "http/1.1", "RTSP/1.0", "ICY"].map(
      (version): [string, string] => [`the version ${version}`, `${version} 200 OK\r\nContent-Length: 2\r\n\r\n{}`],
    ),
    ["a status of two digits", "HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\n{}"],
    ["a status below 100", "HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\n{}"],
    ["a switch of protocols that was not asked for", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"],
    ["a header line without a colon", `${ok}Content-Length 2\r\n\r\n{}`],
    ["a NUL in a header", `${ok}X-A: b\0c\r\nContent-Length: 2\r\n\r\n{}`],
    ["a space before the colon", `${ok}Content-Length : 2\r\n\r\n{}`],
    ["two different lengths", `${ok}Content-Length: 2\r\nContent-Length: 20\r\n\r\n{}`],
    ["a length that is no number", `${ok}Content-Length: two\r\n\r\n{}`],
    ["a negative length", `${ok}Content-Length: -2\r\n\r\n{}`],
    ["a length and chunks", `${ok}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ["two lengths of a 204", `HTTP/1.1 204 No\r\n${"Content-Length: 0\r\n".repeat(2)}\r\n`],
    ["a length of a 304 that is no number", "HTTP/1.1 304 Same\r\nContent-Length: x\r\n\r\n"],
    ["a length of an interim answer that is no number", `HTTP/1.1 103 Early\r\nContent-Length: x\r\n\r\n${ok}\r\n`],
    ["a coding below chunks", `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ["chunks of chunks", `${ok}Transfer-Encoding: chunked, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ["chunks of chunks, on two lines", `${ok}${"Transfer-Encoding: chunked\r\n".repeat(2)}\r\n2\r\n{}\r\n0\r\n\r\n`],
    ["a blank that is none behind chunked", `${ok}Transfer-Encoding: chunked\xa0\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ["a coding without chunks", `${ok}Transfer-Encoding: GZIP\r\n\r\n{}`],
    ["headers over 16 KiB in one line", `${ok}X-Big: ${"x".repeat(20_000)}\r\nContent-Length: 2\r\n\r\n{}`],
    ["headers over 16 KiB in many lines", `${ok}${"X-Big: 12345678\r\n".repeat(2_000)}Content-Length: 2\r\n\r\n{}`],
    ["headers that never end", `${ok}${"X-Big: 12345678\r\n".repeat(20_000)}`],
  ])("is 502 upstream_bad_response, unknown: %s", async (_name, bytes) => {
    const { answer, upstream, end } = await answerWith(bytes, "stay");
    expect({ status: answer.status, code: answer.value("countersign-error") }).toEqual({
      status: 502,
      code: "upstream_bad_response",
    });
    expect(JSON.parse(answer.body)).toMatchObject({ outcome: "unknown", code: "upstream_bad_response" });
    expect(answer.isComplete).toBe(true);
    expect(upstream.requests).toHaveLength(1);
    expect(end).toMatchObject({ outcome: "unknown", attempts: 1 });
  });
});

describe("an answer that ends too early", () => {
  it.each([
    ["nothing at all", ""],
    ["half a status line", "HTTP/1.1 20"],
    ["half a head", `${ok}Content-Length: 2\r\n`],
    ["a head alone", `${ok}Content-Length: 2\r\n\r\n`],
    ["a head alone, in chunks", `${ok}Transfer-Encoding: chunked\r\n\r\n`],
    ["only an interim answer", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"],
  ])("is 502 upstream_reset, unknown, where no byte of a body came: %s", async (_name, bytes) => {
    const { answer, upstream, end } = await answerWith(bytes);
    expect({ status: answer.status, code: answer.value("countersign-error") }).toEqual({
      status: 502,
      code: "upstream_reset",
    });
    expect(upstream.requests).toHaveLength(1);
    expect(end).toMatchObject({ outcome: "unknown", by: "countersign", attempts: 1 });
  });

  it.each([
    ["half of a body with its length announced", `${ok}Content-Length: 20\r\n\r\n{"order_`, "close"],
    ["all but one byte of it", `${ok}Content-Length: 20\r\n\r\n0123456789012345678`, "close"],
    ["chunks without the last one", `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`, "close"],
    ["half a chunk", `${ok}Transfer-Encoding: chunked\r\n\r\n20\r\n{"order_`, "close"],
    ["a chunk size that is no number", `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n`, "stay"],
    ["a reset in a body that the close would end", `${ok}\r\n{"order_`, "reset"],
  ] as const)("is a cut connection where a part had been passed on: %s", async (_name, bytes, how) => {
    const { answer, upstream, end } = await answerWith(bytes, how);
    expect([200, 502]).toContain(answer.status);
    expect(answer.status === 200 && answer.isComplete).toBe(false);
    expect(upstream.requests).toHaveLength(1);
    expect(end.code).toMatch(/^upstream_(reset|bad_response)$/);
    expect(end).toMatchObject({ outcome: "unknown", attempts: 1 });
  });
});

it("passes on a body that is ended by the close, as HTTP allows, and ends it by the close too", async () => {
  const { answer, end } = await answerWith("HTTP/1.0 200 OK\r\nX-Old: yes\r\n\r\n{}");
  // Nobody can tell it from a part of a longer one, so it gets no end that the service did not give it.
  expect(answer).toMatchObject({ status: 200, body: "{}", isComplete: false });
  expect([answer.value("connection"), answer.value("transfer-encoding")]).toEqual(["close", undefined]);
  expect(end).toMatchObject({ outcome: "answered", code: undefined });
});

it("passes on the answer after an interim one", async () => {
  const { answer } = await answerWith(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${ok}Content-Length: 2\r\n\r\n{}`);
  expect(answer).toMatchObject({ status: 200, body: "{}", isComplete: true });
  expect(answer.value("link")).toBeUndefined();
});
