import { describe, expect, it } from "vitest";
import { mostParameters, readParameters } from "../../src/parameters/parameters.ts";
import { cpuMsOf } from "../../testkit/cpu-time.ts";
import { malformedTexts } from "./corpus/malformed-json.ts";
import { otherTopLevels } from "./corpus/refused-json.ts";
import { refusalOf } from "./refusal-of.ts";

const limitBytes = 262_144;
const body = (text: string) => new TextEncoder().encode(text);
const read = (text: string) => readParameters(body(text));
const readPairs = (text: string) => [...read(text)].map(([name, { value }]) => [name, value]);
const refusal = (text: string) => refusalOf(() => read(text));

it.each([
  ['""', true],
  ['"any é\u2028\u{1F600}\u007F"', true],
  ["1.50e1", true],
  ["true", true],
  [String.raw`"\""`, false],
  [String.raw`"a\\b"`, false],
  [String.raw`"\n"`, false],
  [String.raw`"\u0041"`, false],
  [String.raw`"\ud83d\ude00"`, false],
])("reports whether %s needs no escape between quotes", (literal, isPlain) => {
  expect(read(`{"a": ${literal} }`).get("a")?.isPlain).toBe(isPlain);
});

describe("malformed JSON (the JSON corpus has the whole table)", () => {
  it("is in a corpus that is large enough", () => {
    expect(malformedTexts.length).toBeGreaterThanOrEqual(120);
    expect(new Set(malformedTexts).size).toBe(malformedTexts.length);
    for (const text of malformedTexts) expect(() => JSON.parse(text), text).toThrow(SyntaxError);
  });

  it.each(otherTopLevels)("is named in the refusal if it is whole, but no object: %s", (text, called) => {
    expect(refusal(text)).toMatchObject({
      code: "body_not_json",
      message: `The body is ${called}, not a JSON object.`,
    });
  });
});

describe("a refusal of bytes that are not UTF-8 (the JSON corpus has the whole table)", () => {
  it.each([
    [
      "a byte order mark",
      [0xef, 0xbb, 0xbf, 0x7b, 0x7d],
      "The body starts with a byte order mark; send it without one.",
    ],
    ["UTF-16", [0x7b, 0, 0x7d, 0], "The body looks like UTF-16; send it as UTF-8."],
    ["UTF-16 by its mark", [0xff, 0xfe, 0x3a, 0x26], "The body looks like UTF-16; send it as UTF-8."],
    ["UTF-16 by its mark, big endian", [0xfe, 0xff, 0x26, 0x3a], "The body looks like UTF-16; send it as UTF-8."],
    ["the bad byte", [0x7b, 0x22, 0x80, 0x22], "The body is not valid UTF-8: see byte 3."],
    ["a character cut by the end", [0x7b, 0xe2, 0x82], "The body is not valid UTF-8: see byte 2."],
    ["the first of two bad bytes", [0x7b, 0xff, 0xff], "The body is not valid UTF-8: see byte 2."],
  ])("names %s", (_, bytes, message) => {
    expect(refusalOf(() => readParameters(Uint8Array.from(bytes))).message).toBe(message);
  });
});

describe("a refusal says where the fault is, and never shows the value", () => {
  it("shows a hostile name short and printable", () => {
    const { message } = refusal(JSON.stringify({ [`\u001b[31m\u202e"é\u{1F600}${"x".repeat(200)}`]: "secret" }));
    expect(message).toContain(String.raw`The name "\u001b[31m\u202e\"\u00e9\ud83d\ude00${"x".repeat(30)}"… at`);
    expect(message).toMatch(/^[\x20-\x7e…]+$/);
  });

  it.each([
    ['{"a":null}', "null_value", "a", 6],
    ['{"a":1, "b": null }', "null_value", "b", 14],
    ['{"a":{}}', "nested_value", "a", 6],
    ['{"a":[]}', "nested_value", "a", 6],
    ['{"é":1}', "name_not_allowed", "\\u00e9", 2],
    ['{"a":"\u{1F600}é","b":null}', "null_value", "b", 15],
    ['{"a":1,"a":2}', "duplicate_parameter", "a", 8],
  ])("names the parameter and the place: %s", (text, code, name, position) => {
    const { code: found, message } = refusal(text);
    expect(found).toBe(code);
    expect(message).toContain(`"${name}"`);
    expect(message).toMatch(new RegExp(` at character ${position}\\b.*\\.$`));
  });

  it.each([
    ['{"card":"4111-secret",}', "expected a name in double quotes at character 23"],
    ['{"card":"4111-secret"', 'expected "," or "}" at character 22, where the body ends'],
    ['{"card":secret}', "expected a string, a number, true or false at character 9"],
    ['{"card":4111secret}', 'expected "," or "}" at character 13'],
    ['{"card":"\tsecret"}', "a string has a control character that is not escaped at character 10"],
    ['{"card":"\\secret"}', "a string has a backslash that begins no escape at character 10"],
    ['{"card":"\\u00secret"}', "expected four hexadecimal digits at character 12"],
    ['{"card":"secret', "a string is not closed at character 16, where the body ends"],
    ['{"card":tsecret}', "expected true, false or null at character 9"],
    ['{"card":-secret}', "expected a digit at character 10"],
    ['{"card"="secret"}', 'expected ":" at character 8'],
    ['{"card":"\\ud83dx"}', "a string has an escape for half of a surrogate pair at character 10"],
    ['{"card":["secret"}', 'expected "," or "]" at character 18'],
    ['{"card":{"secret":1]}', 'expected "," or "}" at character 20'],
    ['{"card":1}secret', "expected nothing after the object at character 11"],
    ["", "it is empty"],
  ])("says what was expected and where, never what was there: %s", (text, what) => {
    const { message } = refusal(text);
    expect(message).toBe(`The body is not JSON: ${what}.`);
  });
});

describe("hostile bodies take little time", () => {
  const fill = (start: string, unit: string, end = "") =>
    body(start + unit.repeat((limitBytes - start.length - end.length) / unit.length) + end);
  const tenTimes = (ms: number) => ms * 10;

  it.each([
    ["65 levels", body(`{"a":${"[".repeat(65)}${"]".repeat(65)}}`)],
    ["65 levels of objects", body(`{"a":${'{"b":'.repeat(65)}1${"}".repeat(65)}}`)],
    ["5,000 levels", body(`{"a":${"[".repeat(5_000)}${"]".repeat(5_000)}}`)],
    ["5,000 levels of objects", body(`${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`)],
    ["256 KiB of [ in a parameter", fill('{"a":', "[")],
    ["256 KiB of {", fill("", '{"a":')],
    ["131,000 levels, closed", body(`{"a":${"[".repeat(131_000)}${"]".repeat(131_000)}}`)],
    ["256 KiB of [ at the top level", fill("", "[")],
    ["5,000 levels at the top level", body("[".repeat(5_000) + "]".repeat(5_000))],
  ])("refuses %s in 20 ms, and continues to work", (_, deep) => {
    let refusal: ReturnType<typeof refusalOf> | undefined;
    const tookMs = cpuMsOf(() => {
      refusal = refusalOf(() => readParameters(deep));
    });
    expect(tookMs).toBeLessThan(tenTimes(20));
    expect(refusal?.code).toBe("body_not_json");
    expect(refusal?.message).toMatch(/deeper than 64 levels|is an array, not a JSON object/);
    expect(readPairs('{"a":1}')).toEqual([["a", "1"]]);
  });

  it.each([
    ["white space", fill("", " ", "{}"), undefined],
    ["one string", fill('{"a":"', "x", '"}'), undefined],
    ["escapes", fill('{"a":"', "\\u0061", '"}'), undefined],
    ["an open string", fill('{"a":"', "x"), "body_not_json"],
    ["backslashes", fill('{"a":"', "\\\\"), "body_not_json"],
    ["digits", fill('{"a":', "1", "}"), undefined],
    ["exponent digits", fill('{"a":1e', "9", "}"), undefined],
    ["an open number", fill('{"a":1.', "0"), "body_not_json"],
    ["letters for a word", fill('{"a":t', "r"), "body_not_json"],
    ["one long name", fill('{"', "x", '":1}'), "name_not_allowed"],
    ["one name over and over", fill("{", '"a":1,', '"a":1}'), "duplicate_parameter"],
    ["colons in a string", fill('{"a":"', ":", '"}'), undefined],
    ["nulls", fill("{", '"a":null,', '"a":1}'), "null_value"],
    ["a wide array", fill('{"a":[', "1,", "1]}"), "nested_value"],
    ["many small objects", fill('{"a":[', '{"":[]},', "1]}"), "nested_value"],
    ["emoji before a fault", fill('{"a":"', "\u{1F600}"), "body_not_json"],
    ["bad bytes", new Uint8Array(limitBytes).fill(0x80), "body_not_json"],
  ])("reads 256 KiB of %s in 50 ms", (_, hostile, code) => {
    const tookMs = cpuMsOf(() => {
      mostParameters(hostile);
      const outcome = () => readParameters(hostile);
      if (code === undefined) expect(outcome()).toHaveProperty("size");
      else expect(refusalOf(outcome).code).toBe(code);
    });
    expect(tookMs).toBeLessThan(tenTimes(50));
  });
});

it.each([
  ["{}", 0],
  ['{"a":1}', 1],
  ['{"a":1,"b":2,"c":3}', 3],
  ['{"a":"1:2"}', 2],
  ['{"a":"::::::"}', 3],
  ["", 0],
  [":", 1],
  ["::::::::::::", 2],
])("before it is read, the body %s is estimated to have at most %d parameters", (text, most) => {
  expect(mostParameters(body(text))).toBe(most);
  expect(mostParameters(Buffer.from(text))).toBe(most);
});
