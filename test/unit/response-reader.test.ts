/** How the client of the service reads any bytes, however they are cut into pieces. */
import { expect, it } from "vitest";
import { ResponseReader } from "../../src/adapters/http-client/response-reader.ts";
import { MalformedResponse } from "../../src/adapters/http-client/transport-error.ts";
import { cut, refused } from "./broken-responses.ts";
import { accepted, endedByTheClose, ok, type Whole } from "./whole-responses.ts";

it.each(accepted)("reads a response, in any pieces, that has %s", (_title, bytes, whole) => {
  expectInAnyPieces(bytes, { whole, isEndedByTheClose: false });
});

it.each(endedByTheClose)("in any pieces, the close ends a body that has %s", (_title, bytes, whole) => {
  expectInAnyPieces(bytes, { whole, isEndedByTheClose: true });
});

it.each(cut)("does not take for whole, in any pieces, a response that ends after %s", (_title, bytes) =>
  expectInAnyPieces(bytes, "cut"),
);

it.each(refused)("refuses, in any pieces, as %s: %s", (code, _title, bytes) =>
  expectInAnyPieces(bytes, { refused: code }),
);

it("a text that cannot become a status line is refused at its first wrong byte", () => {
  const line = "HTTP/1.1 200 ";
  const right = [/[H\r\n]/, /T/, /T/, /P/, /\//, /1/, /\./, /[01]/, / /, /[1-9]/, /\d/, /\d/, /[ \r]/];
  for (const [at, allowed] of right.entries()) {
    for (const char of Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte))) {
      const found = readIn(`${line.slice(0, at)}${char}`, []);
      expect([at, char, found]).toEqual([at, char, allowed.test(char) ? "cut" : { refused: "NOT_HTTP_1_1" }]);
    }
  }
});

it("every cut of a whole response is a cut response", () => {
  for (const [title, bytes, { idleMs }] of accepted) {
    // The others have further bytes after the response.
    if (bytes.length > 1_500 || idleMs === 0) continue;
    for (let length = 0; length < bytes.length; length++) {
      expect([title, length, readIn(bytes.slice(0, length), [])]).toEqual([title, length, "cut"]);
    }
  }
});

it("any other byte in place of one of a status line or a length is refused, or read with its own meaning", () => {
  const bytes = `${ok}Content-Length: 12\r\n\r\n0123456789ab`;
  const head = bytes.length - 12;
  for (let at = 0; at < head; at++) {
    for (let byte = 0; byte < 256; byte++) {
      const mutant = `${bytes.slice(0, at)}${String.fromCharCode(byte)}${bytes.slice(at + 1)}`;
      const found = readIn(mutant, []);
      if (found === "cut" || "refused" in found || mutant === bytes) continue;
      const { status, headers, body } = found.whole;
      const [name = "", value = ""] = headers;
      expect(mutant.startsWith(`HTTP/1.${mutant[7]} ${status}`)).toBe(true);
      if (status === 204) expect(body).toBe("");
      else if (!found.isEndedByTheClose) {
        expect(name.toLowerCase()).toBe("content-length");
        expect(body.length).toBe(Number(value));
      } else expect(name.toLowerCase()).not.toBe("content-length");
    }
  }
});

type Result = { readonly whole: Whole; readonly isEndedByTheClose: boolean } | { readonly refused: string } | "cut";

/** The bytes come in pieces that end at these places, then an orderly end of the connection. */
function readIn(bytes: string, ends: readonly number[], reader = new ResponseReader()): Result {
  reader.begin();
  let body = "";
  let start = 0;
  let hasMore = false;
  try {
    for (const end of [...ends, bytes.length]) {
      if (end === start) continue;
      // The connection reads into the same buffer again and again.
      const buffer = Buffer.concat([Buffer.from(bytes.slice(start, end), "latin1"), Buffer.from("\r\nold bytes")]);
      start = end;
      if (reader.phase === "complete") hasMore = true;
      else {
        body += reader.read(buffer, buffer.length - 11)?.toString("latin1") ?? "";
        buffer.fill(0);
      }
    }
  } catch (error) {
    if (error instanceof MalformedResponse) return { refused: error.code };
    throw error;
  }
  const wasComplete = reader.phase === "complete";
  if (!wasComplete && !reader.finish()) return "cut";
  const { status, headers, idleMs } = reader;
  const whole = { status, headers, body, idleMs: hasMore ? 0 : idleMs };
  return { whole, isEndedByTheClose: !wasComplete };
}

/** The cuts behind "in any pieces": in two at every place (for long bytes at some), and byte by byte. */
function cutsOf(bytes: string): (readonly number[])[] {
  const places = Array.from({ length: bytes.length }, (_, place) => place);
  const some = bytes.length <= 1_500 ? places : places.filter((place) => place % 977 === 1 || place < 40);
  const step = bytes.length <= 1_500 ? 1 : 61;
  return [[], ...some.map((place) => [place]), places.filter((place) => place % step === 0)];
}

function expectInAnyPieces(bytes: string, result: Result): void {
  const reader = new ResponseReader();
  for (const ends of cutsOf(bytes)) {
    const found = readIn(bytes, ends, reader);
    // A comparison by expect is slow, and there are tens of thousands of cuts.
    if (JSON.stringify(found) !== JSON.stringify(result)) expect({ ends, found }).toEqual({ ends, found: result });
  }
}
