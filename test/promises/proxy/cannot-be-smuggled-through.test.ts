/**
 * Proves row 1: inbound framing is never forwarded, and the service sees exactly as many requests as were answered by it,
 * each framed by us. Every hostile request carries a second one where a confused parser would find it.
 */
import { describe, expect, it } from "vitest";
import { chunked, orderText, RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { stageProxy } from "../../../testkit/stage.ts";

const inner = rawPost({ target: "/get_order", host: ["Host: smuggled"] });
const length = Buffer.byteLength(orderText);
const lengthLine = `Content-Length: ${length}`;
const chunks = chunked(orderText);

/** Framing lines, body, and the statuses that must come: 200s are what the service answered. */
const hostile: readonly (readonly [name: string, framing: readonly string[], body: string, statuses: number[]])[] = [
  ["Content-Length and Transfer-Encoding", [lengthLine, "Transfer-Encoding: chunked"], `${chunks}${inner}`, [400]],
  ["Transfer-Encoding and Content-Length", ["Transfer-Encoding: chunked", "Content-Length: 4"], chunks, [400]],
  ["two equal lengths", [lengthLine, lengthLine], orderText, [400]],
  ["two different lengths", [lengthLine, "Content-Length: 2"], orderText, [400]],
  ["a list of lengths", [`Content-Length: ${length}, ${length}`], orderText, [400]],
  ["a signed length", [`Content-Length: +${length}`], orderText, [400]],
  ["a negative length", ["Content-Length: -1"], orderText, [400]],
  ["a hexadecimal length", ["Content-Length: 0x10"], orderText, [400]],
  ["an empty length", ["Content-Length:"], orderText, [400]],
  ["a length beyond 64 bits", ["Content-Length: 18446744073709551621"], orderText, [400]],
  ["an unknown coding", ["Transfer-Encoding: xchunked"], chunks, [400]],
  ["a quoted coding", ['Transfer-Encoding: "chunked"'], chunks, [400]],
  ["chunked twice", ["Transfer-Encoding: chunked, chunked"], chunks, [400]],
  ["chunked on two lines", ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], chunks, [400]],
  ["a coding after chunked", ["Transfer-Encoding: chunked, identity"], chunks, [400]],
  ["a coding below chunked", ["Transfer-Encoding: gzip, chunked"], chunks, [415]],
  ["a vertical tab", ["Transfer-Encoding: \x0bchunked"], chunks, [400]],
  ["a space before the colon", ["Transfer-Encoding : chunked"], chunks, [400]],
  ["a folded line", ["Transfer-Encoding:", " chunked"], chunks, [400]],
  ["a line without a colon", ["Transfer-Encoding", lengthLine], orderText, [400]],
  ["a space in a name", ["X Y: 1", lengthLine], orderText, [400]],
  ["a bare CR in a value", ["X: a\rTransfer-Encoding: chunked", lengthLine], orderText, [400]],
  ["a bare LF in a value", ["X: a\nTransfer-Encoding: chunked", lengthLine], orderText, [400]],
  ["a NUL in a value", ["X: a\0b", lengthLine], orderText, [400]],
  ["a chunk size in words", ["Transfer-Encoding: chunked"], `zz\r\n${orderText}\r\n0\r\n\r\n`, [400]],
  ["a chunk size beyond 64 bits", ["Transfer-Encoding: chunked"], `ffffffffffffffff1\r\n${orderText}`, [400]],
  ["chunks ended by LF", ["Transfer-Encoding: chunked"], chunks.replaceAll("\r\n", "\n"), [400]],
  ["a chunk longer than its size", ["Transfer-Encoding: chunked"], `2\r\n${orderText}\r\n0\r\n\r\n`, [400]],
  ["LF in a chunk extension", ["Transfer-Encoding: chunked"], `2;x\n\r\n{}\r\n0\r\n\r\n`, [400]],
  ["a chunk extension", ["Transfer-Encoding: chunked"], chunks.replace("\r\n", ';x="y"\r\n'), [200]],
  [
    "a length in the trailers",
    ["Transfer-Encoding: chunked"],
    `${chunks.slice(0, -2)}Content-Length: 4\r\n\r\n`,
    [400],
  ],
  ["trailers", ["Transfer-Encoding: chunked"], `${chunks.slice(0, -2)}X-Sum: 4\r\n\r\n`, [200]],
  ["the coding in capitals", ["Transfer-Encoding: CHUNKED"], chunks, [200]],
  ["a length with leading zeros", [`Content-Length: 000${length}`], orderText, [200]],
];

describe("a request with", () => {
  it.each(hostile)("%s", async (_, framing, body, statuses) => {
    const clock = new ShiftedClock();
    const { port, simulator } = await stageProxy({ surroundings: { clock } });
    const connection = await RawConnection.open(port);
    await connection.write(rawPost({ framing, body })).until(/\r\n\r\n\{.*\}$/s);
    // No need to wait while the proxy waits for the rest of a body that it refused.
    clock.push(1_000);
    const answers = readAnswers(await connection.ended());
    expect(answers.map(({ status }) => status)).toEqual(statuses);
    expect(simulator.counts().apiRequests).toBe(answers.filter(({ status }) => status === 200).length);
    for (const { target, rawHeaders, body: sent } of simulator.seen.apiRequests) {
      const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
      expect(target).toBe("/json-api/create_order");
      expect(names.filter((name) => name === "content-length" || name === "transfer-encoding")).toEqual([
        "content-length",
      ]);
      expect(rawHeaders[names.indexOf("content-length") * 2 + 1]).toBe(String(sent.length));
    }
    expect(simulator.counts()).toMatchObject({ malformed: 0, incomplete: 0 });
  });
});

it("with an empty coding is refused, by the parser or by us, as Node's version has it", async () => {
  const { port, simulator } = await stageProxy();
  const connection = await RawConnection.open(port);
  const text = await connection.write(rawPost({ framing: ["Transfer-Encoding:"], body: chunks })).until(/\}$/);
  expect([400, 415]).toContain(readAnswers(text)[0]?.status);
  expect(simulator.counts().apiRequests).toBe(0);
});

const amount = (text: string) => `{"order_amount":"${text}"}`;

it("answers pipelined requests one for one, in their order", async () => {
  const { port, simulator } = await stageProxy();
  const open = { connection: [] };
  const bytes = [
    rawPost({ ...open, body: amount("1.00") }),
    rawPost({ ...open, body: amount("2.005") }),
    rawPost({ ...open, body: chunked(amount("3.00")), framing: ["Transfer-Encoding: chunked"] }),
    rawPost({ body: amount("4.00") }),
  ];
  const connection = await RawConnection.open(port);
  const answers = readAnswers(await connection.write(bytes.join("")).ended());
  expect(answers.map(({ status }) => status)).toEqual([200, 422, 200, 200]);
  expect(answers.map(({ text }) => JSON.parse(text).order?.received.order_amount)).toEqual([
    "1.00",
    undefined,
    "3.00",
    "4.00",
  ]);
  expect(simulator.counts()).toMatchObject({ apiRequests: 3, accepted: 3 });
});

it("serves nothing that follows a request whose answer closes the connection", async () => {
  const { port, simulator } = await stageProxy();
  const open = { connection: [] };
  const bytes = [rawPost(open), rawPost({ ...open, target: "//evil" }), rawPost(open), rawPost()];
  const connection = await RawConnection.open(port);
  const answers = readAnswers(await connection.write(bytes.join("")).ended());
  expect(answers.map(({ status, headers }) => [status, headers["connection"]])).toEqual([
    [200, "keep-alive"],
    [400, "close"],
  ]);
  expect(simulator.counts().apiRequests).toBe(1);
});

it("takes bytes beyond the announced length for what they are: another request", async () => {
  const { port, simulator } = await stageProxy();
  const connection = await RawConnection.open(port);
  connection.write(rawPost({ connection: [], framing: ["Content-Length: 2"], body: `{}${inner}` }));
  const answers = readAnswers(await connection.ended());
  // The inner one has a foreign Host; as any request, it is judged on its own.
  expect(answers.map(({ status }) => status)).toEqual([200, 403]);
  expect(simulator.counts().apiRequests).toBe(1);
});
