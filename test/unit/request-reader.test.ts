/** Each row is read whole and cut at every byte, with the same head and body or the same code. */
import { expect, it } from "vitest";
import { RequestBody } from "../../src/adapters/http-server/read-body.ts";
import { HeadReader } from "../../src/adapters/http-server/request-reader.ts";
import { ProxyError } from "../../src/model/errors.ts";
import { chunks, framings } from "./corpus/request-bodies.ts";
import { headerLines, requestLines } from "./corpus/request-heads.ts";
import { header } from "./corpus/request-texts.ts";

const buffer = { reserve: () => {}, onEvicted: () => {} };
const bodyBytes = 262_144;

it("the corpus has enough rows", () => {
  const rows = [...requestLines, ...headerLines, ...framings, ...chunks];
  expect(rows.length).toBeGreaterThanOrEqual(200);
  expect(new Set(rows.map(([, text]) => text)).size).toBe(rows.length);
});

it.each(requestLines)("the request line %s", (_, text, expected) => expectSeen(text, expected));
it.each(headerLines)("header lines %s", (_, text, expected) => expectSeen(text, expected));
it.each(framings)("how the body is framed %s", (_, text, expected) => expectSeen(text, expected));
it.each(chunks)("chunks %s", (_, text, expected) => expectSeen(text, expected));

it.each([
  ["post / HTTP/1.1\r\n\r\n", "the method is no method of HTTP in capitals"],
  ["POST / HTTP/3.7\r\n\r\n", "another version than HTTP/1.1"],
  [header("X Y: 1\r\n"), "its name has a blank"],
  [header("X: a\0b\r\n"), "its value a control character"],
  [header("X: a\r\n b\r\n"), "it continues the line before"],
  [header("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), "stands beside Transfer-Encoding; send one"],
])("a fault is said in words: %j", (text, words) => {
  expect(() => new HeadReader().read(Buffer.from(text, "latin1"), 0)).toThrow(words);
});

it("returns names and values as received, in one flat list", () => {
  const head = new HeadReader().read(Buffer.from(header("x-A:  b \t\r\nC:\r\nx-a: \xe9\r\n"), "latin1"), 0);
  expect(head?.headers).toEqual(["Host", "a", "x-A", "b", "C", "", "x-a", "\xe9"]);
});

it.each([
  ["1.1", "", false],
  ["1.1", "Connection: close\r\n", true],
  ["1.1", "Connection: x, Close\r\n", true],
  ["1.1", "Connection: x\r\nConnection: close\r\n", true],
  ["1.1", "Connection: closed\r\n", false],
  ["1.0", "", true],
  ["1.0", "Connection: keep-alive\r\n", false],
  ["1.0", "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n", true],
])("recognises whether HTTP/%s with %j closes the connection", (version, lines, closes) => {
  const head = new HeadReader().read(Buffer.from(`POST / HTTP/${version}\r\n${lines}\r\n`), 0);
  expect(head?.closes).toBe(closes);
});

/** Every request in the bytes, as `method target version: body`; then the fault, or the begun request. */
function read(pieces: readonly Buffer[]): string[] {
  const seen: string[] = [];
  const heads = new HeadReader();
  let request: { readonly line: string; readonly body: RequestBody } | undefined;
  try {
    for (const piece of pieces) {
      for (let position = 0; position < piece.length; ) {
        if (request === undefined) {
          const head = heads.read(piece, position);
          position = heads.position;
          if (head === undefined) continue;
          const line = `${head.method} ${head.target} ${head.version}`;
          request = { line, body: new RequestBody(head, bodyBytes) };
        } else {
          position = request.body.read(piece, position);
        }
        if (!request.body.isComplete) continue;
        seen.push(`${request.line}: ${Buffer.from(request.body.collect(buffer) as Uint8Array).toString("latin1")}`);
        request = undefined;
      }
    }
    if (request !== undefined) seen.push("a body");
    else if (heads.hasBegun) seen.push("a head");
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    seen.push(`${error.status} ${error.causedBy}`);
  }
  return seen;
}

function expectSeen(text: string, expected: readonly string[]): void {
  const bytes = Buffer.from(text, "latin1");
  expect(read([bytes]), JSON.stringify(text.slice(0, 300))).toEqual(expected);
  const step = Math.max(1, Math.floor(bytes.length / 500));
  for (let at = 1; at < bytes.length; at += step) {
    expect(read([bytes.subarray(0, at), bytes.subarray(at)]), `cut at ${at}: ${JSON.stringify(text)}`).toEqual(
      expected,
    );
  }
  if (bytes.length > 2_000) return;
  expect(read([...bytes].map((byte) => Buffer.of(byte))), `byte by byte: ${JSON.stringify(text)}`).toEqual(expected);
}
