import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readDocument } from "../../../src/config/yaml.ts";

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
    ['{"a":1,"a":1}', 8, "Map keys must be unique"],
    ['{"a":1,"\\u0061":1}', 8, "Map keys must be unique"],
    ['{"a":{"b":{},"b":[{}]},"c":"\\":"}', 14, "Map keys must be unique"],
    ['{"a":{"__proto__":{}}}', 7, "nothing can be called __proto__"],
    ['{"a":1,"\\u005f_proto__":2}', 8, "nothing can be called __proto__"],
  ])("is refused where %s is trapped", (text, column, message) => {
    const { value, yamlProblems } = readDocument(text);
    expect(value).toBeUndefined();
    expect(yamlProblems).toMatchObject([{ line: 1, column, message: expect.stringContaining(message) }]);
  });

  it("has places", () => {
    const { locate } = readDocument('{\n\t"a": [\n\t\t{ "b\\": \\"": "value" }\n\t]\n}');
    expect(locate(["a", "0", 'b": "'])).toEqual({ line: 3, column: 5, found: '"value"' });
  });
});
