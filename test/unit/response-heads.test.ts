/** What undici's parser gets to see of an answer. */
import { describe, expect, it } from "vitest";
import { ResponseHeads } from "../../src/adapters/http-client/response-heads.ts";
import { MalformedResponse } from "../../src/adapters/http-client/transport-error.ts";

/** Everything that goes on to the parser, the bytes coming in pieces of this size. */
function seen(text: string, sliceBytes = text.length): string {
  const heads = new ResponseHeads();
  heads.expect();
  let passed = "";
  for (let at = 0; at < text.length; at += sliceBytes) {
    passed += heads.take(Buffer.from(text.slice(at, at + sliceBytes), "latin1")).toString("latin1");
  }
  return passed;
}

const early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
const body = "\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n";

it.each([
  ["an answer", `HTTP/1.1 200 OK\r\nX: 1${body}`, undefined],
  ["an answer without a reason", `HTTP/1.0 599\r\nX: 1${body}`, undefined],
  ["an answer after interim ones", `${early}${early}HTTP/1.1 200 OK\r\nX: 1${body}`, `HTTP/1.1 200 OK\r\nX: 1${body}`],
  ["an answer after empty lines", `\r\n\r\n${early}\r\nHTTP/1.1 200 OK\r\n${body}`, `HTTP/1.1 200 OK\r\n${body}`],
  [
    "a 204 with a length",
    "HTTP/1.1 204 No\r\nContent-LENGTH: 5\r\nX-Content-Length: 6\r\n\r\nrest",
    "HTTP/1.1 204 No\r\ncountersign-hidden-Content-LENGTH: 5\r\nX-Content-Length: 6\r\n\r\nrest",
  ],
])("%s is seen alike, however it is cut into pieces", (_name, text, expected = text) => {
  for (let sliceBytes = 1; sliceBytes <= text.length; sliceBytes++) expect(seen(text, sliceBytes)).toBe(expected);
});

it("a head is expected once for each request", () => {
  const heads = new ResponseHeads();
  expect(heads.take(Buffer.from("junk")).toString()).toBe("junk");
  heads.expect();
  heads.expect();
  expect(heads.take(Buffer.from("HTTP/1.1 200 OK\r\n\r\n")).length).toBe(19);
  expect(heads.take(Buffer.from("junk")).toString()).toBe("junk");
  heads.expect();
  expect(() => heads.take(Buffer.from("junk"))).toThrow(MalformedResponse);
});

describe("refused", () => {
  it.each([
    ["NOT_HTTP_1_1", "HTTP/2"],
    ["NOT_HTTP_1_1", "<"],
    ["NOT_HTTP_1_1", "HTTP/1.1 2000"],
    ["NOT_HTTP_1_1", "HTTP/1.1  200"],
    ["UPGRADE_NOT_ASKED_FOR", "HTTP/1.1 101 "],
    ["HEAD_TOO_LONG", `HTTP/1.1 304 Not\r\n${"x".repeat(17_000)}`],
    ["INTERIM_RESPONSE_MALFORMED", "HTTP/1.1 100 A\rB\r\n\r\n"],
    ["INTERIM_RESPONSES_TOO_LONG", early.repeat(2_000)],
    ["INTERIM_RESPONSES_TOO_LONG", "\r\n".repeat(40_000)],
  ])("as %s: %j", (code, text) => {
    expect(() => seen(text)).toThrow(expect.objectContaining({ code }));
  });
});
