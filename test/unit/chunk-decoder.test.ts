/** What a chunked body is, in requests and in responses alike, and at which byte it is refused. */
import { describe, expect, it } from "vitest";
import { ChunkDecoder, type ChunkFault } from "../../src/http/chunk-decoder.ts";

class Refused extends Error {
  readonly fault: ChunkFault;

  constructor(fault: ChunkFault) {
    super(fault);
    this.fault = fault;
  }
}

/** The data of the body, `incomplete`, or its fault; and how many bytes were given until then. */
function decode(text: string, ends: readonly number[] = []) {
  const decoder = new ChunkDecoder((fault) => new Refused(fault));
  let data = "";
  let start = 0;
  for (const end of [...ends, text.length]) {
    const length = end - start;
    // What is behind the bytes is of an earlier reading.
    const bytes = Buffer.from(`${text.slice(start, end)}\r\n0\r\n\r\n`, "latin1");
    try {
      const stop = decoder.read(bytes, 0, length, (from, to) => {
        data += bytes.toString("latin1", from, to);
      });
      if (decoder.isComplete) return { data, end: start + stop };
      expect(stop).toBe(length);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { fault: error.fault, end };
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

const x = (length: number) => "x".repeat(length);
const last = "0\r\n\r\n";

it.each([
  ["no data", last, ""],
  ["two chunks", `1\r\na\r\n2\r\nbc\r\n${last}`, "abc"],
  ["line ends in the data", `4\r\n\r\n\r\n\r\n${last}`, "\r\n\r\n"],
  ["sizes of 14 digits", `0000000000000A\r\n${x(10)}\r\n00000000000000\r\n\r\n`, x(10)],
  ["extensions of names alone", "1;a;b\r\nx\r\n0;c\r\n\r\n", "x"],
  ["extensions of tokens", "1;a=b;!#$=%&'*+-.^_`|~09AZ\r\nx\r\n0;a=b\r\n\r\n", "x"],
  ["quoted extensions", `1;a="";b="; \t\xff\\"\\\\=";c\r\nx\r\n${last}`, "x"],
  ["trailers", "0\r\nX: 1\r\nHost:\r\n\r\n", ""],
  ["16 KiB of extensions", `1;${x(16_380)}\r\nx\r\n0;ab\r\n\r\n`, "x"],
  ["16 KiB of trailers", `0\r\nX:${x(16_378)}\r\n\r\n`, ""],
])("in any pieces, a body is read that has %s", (_, body, data) => {
  const text = `${body}next`;
  const result = { data, end: body.length };
  expect(byteByByte(text)).toEqual(result);
  const step = Math.ceil(text.length / 300);
  for (let at = 0; at < text.length; at += step) expect([at, decode(text, [at])]).toEqual([at, result]);
});

describe("it is refused at the first byte that no body can have in its place:", () => {
  it.each<[name: string, fault: ChunkFault, upToIt: string]>([
    ["no size", "malformed", "\r"],
    ["a letter for a size", "malformed", "g"],
    ["a prefix of a size", "malformed", "0x"],
    ["a blank behind a size", "malformed", "1 "],
    ["a size of 15 digits", "size too long", "000000000000001"],
    ["a size of 2^53", "size too long", "20000000000000"],
    ["a size that is larger still", "size too long", "ffffffffffffff"],
    ["a carriage return alone behind a size", "malformed", "1\rx"],
    ["a line feed alone behind a size", "line feed alone", "1\n"],
    ["a line feed alone for a size", "line feed alone", "\n"],
    ["a blank before an extension", "malformed", "1; "],
    ["a blank in an extension", "malformed", "1;a "],
    ["an extension without a name", "malformed", "1;\r"],
    ["a value without a name", "malformed", "1;="],
    ["an empty name among others", "malformed", "1;a;;"],
    ["an empty value", "malformed", "1;a=\r"],
    ["an empty value among others", "malformed", "1;a=;"],
    ["two values", "malformed", "1;a=b="],
    ["a quotation mark in a token", "malformed", '1;a=b"'],
    ["a letter behind a quoted value", "malformed", '1;a="b"c'],
    ["a line feed in an extension", "line feed alone", "1;a\n"],
    ["a line feed in a quoted value", "line feed alone", '1;a="b\n'],
    ["a carriage return in a quoted value", "malformed", '1;a="b\r'],
    ["an escaped carriage return", "malformed", '1;a="b\\\r'],
    ["extensions beyond 16 KiB", "extensions too long", `1;${x(16_384)}`],
    ["extensions beyond 16 KiB in all", "extensions too long", `1;${x(16_380)}\r\nx\r\n0;abc`],
    ["more data than announced", "malformed", "1\r\nab"],
    ["a line feed behind the data", "line feed alone", "1\r\na\n"],
    ["a carriage return alone behind the data", "malformed", "1\r\na\r0"],
    ["an empty line between chunks", "malformed", "1\r\na\r\n\r"],
    ["a line feed alone behind the last chunk", "line feed alone", "0\n"],
    ["a line feed alone behind a trailer", "line feed alone", "0\r\nX: 1\n"],
    ["a line feed alone for the last line", "line feed alone", "0\r\n\n"],
    ["a trailer without a colon", "malformed trailer", "0\r\nX\r"],
    ["a folded trailer", "malformed trailer", "0\r\nX: 1\r\n "],
    ["a NUL in a trailer", "malformed trailer", "0\r\nX: \0"],
    ["a Content-Length in the trailers", "malformed trailer", "0\r\ncontent-LENGTH:"],
    ["a Transfer-Encoding in the trailers", "malformed trailer", "0\r\nX: 1\r\nTransfer-Encoding:"],
    ["trailers beyond 16 KiB", "trailers too long", `0\r\nX:${x(16_383)}`],
    ["trailers beyond 16 KiB in all", "trailers too long", `0\r\nX:${x(16_379)}\r\n\r\n`],
  ])("%s", (_, fault, upToIt) => {
    const text = `${upToIt}\r\nmore`;
    expect(byteByByte(text)).toEqual({ fault, end: upToIt.length });
    expect(decode(upToIt.slice(0, -1))).toHaveProperty("incomplete");
  });
});

it("any other byte in the place of one of its punctuation is refused when it comes, or means what it says", () => {
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
