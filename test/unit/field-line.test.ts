/** Header lines, read and written: a written line is read as the same line, or is not written. */
import { expect, it } from "vitest";
import { formatFieldLines, readFieldLine } from "../../src/http/field-line.ts";

it("reads a name, and a value without the blanks around it, within its bounds", () => {
  const lines: string[] = [];
  expect(readFieldLine("x-A:\t b c \t\r\nY:\r\n", 0, 10, lines)).toBe(true);
  expect(readFieldLine("x-A: b\r\nY:\r\n", 8, 10, lines)).toBe(true);
  expect(lines).toEqual(["x-A", "b c", "Y", ""]);
});

it.each(["", ":", ": a", "a", "a ", "a : b", " a: b", "a b: c", "a: b\0", "a: \x7f", "a: b\rc", "\xe9: a"])(
  "reads no header line from %j",
  (text) => {
    const lines: string[] = [];
    expect(readFieldLine(text, 0, text.length, lines)).toBe(false);
    expect(readFieldLine(`${text}: b`, 0, text.length, lines)).toBe(false);
    expect(lines).toEqual([]);
  },
);

it("writes lines unchanged", () => {
  expect(formatFieldLines([])).toBe("");
  expect(formatFieldLines(["x-A", "b", "X-a", "", "Y", "\xe9\t!"])).toBe("x-A: b\r\nX-a: \r\nY: \xe9\t!\r\n");
});

it("each character of a name or a value is read as the same after writing, or is not written", () => {
  const characters = Array.from({ length: 0x1_0000 }, (_, code) => String.fromCharCode(code));
  const written = (headers: (character: string) => string[]) =>
    characters.filter((character) => {
      const lines = formatFieldLines(headers(character));
      if (lines === undefined) return false;
      expect(read(Buffer.from(lines, "latin1").toString("latin1"))).toEqual(headers(character));
      return true;
    });
  expect(written((character) => [`a${character}`, "b"]).join("")).toMatch(/^[!#$%&'*+\-.^_`|~\da-z]{77}$/i);
  expect(written((character) => ["a", `b${character}c`]).join("")).toMatch(/^[\t\x20-\x7e\x80-\xff]{224}$/);
});

it.each([
  ["an empty name", ["", "a"]],
  ["a line end behind a value", ["X", "a\r\n"]],
  ["a bad line behind good ones", ["A", "b", "X Y", "a"]],
])("does not write %s", (_, headers) => {
  expect(formatFieldLines(headers)).toBeUndefined();
});

/** The lines of a header section, up to the first text that is not a header line. */
function read(text: string): string[] | undefined {
  const lines: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf("\r\n", start);
    if (end === -1 || !readFieldLine(text, start, end, lines)) return undefined;
    start = end + 2;
  }
  return lines;
}
