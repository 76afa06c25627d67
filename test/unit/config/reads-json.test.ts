import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readDocument } from "../../../src/config/files/yaml.ts";

const spaces = fc.constantFrom(undefined, 1, 2, 4);
const mapping = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }));

describe("a configuration in JSON", () => {
  it("means what it means as YAML", () => {
    const property = fc.property(mapping, spaces, (value, indentation) => {
      const text = JSON.stringify(value, undefined, indentation);
      fc.pre(!text.includes("__proto__"));
      expect(readDocument(text)).toMatchObject({ value: parse(text), yamlProblems: [] });
    });
    fc.assert(property, { numRuns: 500 });
  });

  it.each([
    '{"a":1.50}',
    '{"a":1E+2,"b":-0,"c":1e400}',
    '{"a":12345678901234567890}',
    '{"\\u00e4\\/\\ud83d\\ude00":"\\n"}',
  ])("means what it means as YAML: %s", (text) => expect(readDocument(text).value).toEqual(parse(text)));

  it.each([
    ['{"a":1,"a":1}', 8, 'the key "a" is given twice; it is at line 1, column 2 too'],
    ['{"a":1,"\\u0061":1}', 8, 'the key "a" is given twice; it is at line 1, column 2 too'],
    ['{"a":{"b":{},"b":[{}]},"c":"\\":"}', 14, 'the key "b" is given twice; it is at line 1, column 7 too'],
    ['{"a":{"__proto__":{}}}', 7, "nothing can be called __proto__"],
    ['{"a":1,"\\u005f_proto__":2}', 8, "nothing can be called __proto__"],
  ])("is refused where %s is trapped", (text, column, message) => {
    const { value, yamlProblems } = readDocument(text);
    expect(value).toBeUndefined();
    expect(yamlProblems).toMatchObject([{ line: 1, column, message: expect.stringContaining(message) }]);
  });

  it.each([
    ["without a comma", '{\n  "a": "canary"\n  "b": 1\n}', 3, 3, "expected ',' or '}' after property value"],
    [
      "without a colon",
      '{\n  "a": "canary",\n  "b" "c"\n}',
      3,
      7,
      /unexpected string|expected ':' after property name/,
    ],
    ["without its end", '{\n  "a": ["canary",\n    { "b": 1 }', 3, 15, "expected ',' or ']' after array element"],
    ["with a bracket in place of a brace", '{"a": {"b": "canary"]}', 1, 21, "expected ',' or '}' after property value"],
    ["with a string that does not end", '{"a": "canary', 1, 14, "unterminated string"],
    ["with a brace too many", '{"a": "canary"}\n}', 2, 1, "unexpected non-whitespace character after JSON"],
  ])("that is broken is refused at the one place: %s", (_, text, line, column, what) => {
    const { value, yamlProblems } = readDocument(text);
    expect(value).toBeUndefined();
    // Later versions of Node say more.
    const said = typeof what === "string" ? `this is not valid JSON: ${what}` : expect.stringMatching(what);
    const fix = "correct the JSON here, or just before";
    expect(yamlProblems).toEqual([{ path: "", line, column, message: said, fix, found: undefined }]);
  });

  it.each([
    ["a word without quotes", '{"a": canary: 5}'],
    ["a key without quotes", '{"a": 1, canary {}}'],
    ["a word that looks like a place", '{"a": canary at position 1, ]}'],
  ])("never shows what stands there: %s", (_, text) => {
    const { yamlProblems } = readDocument(text);
    expect(yamlProblems.length).toBeGreaterThan(0);
    expect(JSON.stringify(yamlProblems)).not.toContain("canary");
  });

  it("has places", () => {
    const { locate } = readDocument('{\n\t"a": [\n\t\t{ "b\\": \\"": "value" }\n\t]\n}');
    expect(locate(["a", "0", 'b": "'])).toEqual({ line: 3, column: 5, found: '"value"' });
  });

  it("is found to be a list, or a mapping", () => {
    const { locate } = readDocument('{"a":[1],"b":{"c":1}}');
    expect([locate(["a"]).found, locate(["b"]).found]).toEqual(["a list", "a mapping"]);
  });
});
