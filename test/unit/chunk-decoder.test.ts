/** How a chunked body is read, in requests and in responses alike, and at which byte it is refused. */
import { expect, it } from "vitest";
import { ChunkDecoder } from "../../src/http/chunk-decoder.ts";
import { faultyChunks, soundChunks } from "./corpus/chunked-bodies.ts";

it.each(soundChunks)("reads a body, in any pieces, that has %s", (_, body, data) => {
  const text = `${body}next`;
  const result = { data, end: body.length };
  expect(byteByByte(text)).toEqual(result);
  const step = Math.ceil(text.length / 300);
  for (let at = 0; at < text.length; at += step) expect([at, decode(text, [at])]).toEqual([at, result]);
});

it.each(faultyChunks)(
  "refuses a body at the first byte that no body can have in that place: %s",
  (_, fault, upToIt) => {
    const text = `${upToIt}\r\nmore`;
    expect(byteByByte(text)).toEqual({ fault, end: upToIt.length });
    expect(decode(upToIt.slice(0, -1))).toHaveProperty("incomplete");
  },
);

it("any other byte in place of a punctuation byte is refused at once, or read with its own meaning", () => {
  const places: readonly (readonly [before: string, allowed: RegExp])[] = [
    ["", /[\da-f]/i],
    ["1", /[\da-f;\r]/i],
    ["1;", /[!#$%&'*+\-.^_`|~\da-z]/i],
    ["1;a", /[!#$%&'*+\-.^_`|~\da-z=;\r]/i],
    ["1;a=", /[!#$%&'*+\-.^_`|~\da-z"]/i],
    ["1;a=b", /[!#$%&'*+\-.^_`|~\da-z;\r]/i],
    ['1;a="', /[\t\x20-\x7e\x80-\xff]/],
    ['1;a="\\', /[\t\x20-\x7e\x80-\xff]/],
    ['1;a="b"', /[;\r]/],
    ["1\r", /\n/],
    ["1\r\na", /\r/],
    ["1\r\na\r", /\n/],
    ["0\r", /\n/],
  ];
  for (const [before, allowed] of places) {
    for (let byte = 0; byte < 256; byte++) {
      const char = String.fromCharCode(byte);
      const isRefused = "fault" in decode(before + char);
      expect([before, char, isRefused]).toEqual([before, char, !allowed.test(char)]);
    }
  }
});

it("the largest size is the largest safe integer", () => {
  expect(decode("1fffffffffffff\r\nab")).toEqual({ incomplete: "ab", end: 18 });
});

/** The data of the body, `incomplete`, or its fault; and the number of bytes passed in until then. */
function decode(text: string, ends: readonly number[] = []) {
  const decoder = new ChunkDecoder((fault) => new SyntaxError(fault));
  let data = "";
  let start = 0;
  for (const end of [...ends, text.length]) {
    const length = end - start;
    // The bytes behind each piece are left from an earlier read.
    const bytes = Buffer.from(`${text.slice(start, end)}\r\n0\r\n\r\n`, "latin1");
    try {
      const stop = decoder.read(bytes, 0, length, (from, to) => {
        data += bytes.toString("latin1", from, to);
      });
      if (decoder.isComplete) return { data, end: start + stop };
      expect(stop).toBe(length);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return { fault: error.message, end };
    }
    start = end;
  }
  return { incomplete: data, end: start };
}

function byteByByte(text: string) {
  return decode(
    text,
    Array.from({ length: text.length }, (_, index) => index + 1),
  );
}
