/** Most files are read by a fast package for plain YAML; `check` and its messages use a slower one with places. Both read the same. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ParseOptions, parse, parseDocument, stringify } from "yaml";
import { readDocument, readPlainYaml } from "../../../src/config/files/yaml.ts";
import { sound } from "../../../testkit/config-folder.ts";

const seed = Number(process.env["COUNTERSIGN_SEED"] ?? Date.now() % 2 ** 31);
process.stdout.write(`seed of plain YAML: ${seed}\n`);

const options: ParseOptions & { prettyErrors: false; logLevel: "error" } = {
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: "error",
};

/** Texts that YAML, or some version of it, reads as something else unless they are quoted. */
const words = fc.constantFrom(
  "yes",
  "no",
  "on",
  "True",
  "~",
  "null",
  "",
  "3.0",
  "017",
  "0o17",
  "0x1F",
  "1_000",
  "1e3",
  "1e400",
  "-0",
  "+1",
  ".5",
  "5.",
  ".inf",
  ".NaN",
  "12:30:45",
  "2026-12-31",
  "<<",
  "=",
  "a: b",
  "a #b",
  "- a",
  "? a",
  "*",
  "*a",
  "&a",
  "!a",
  "%a",
  "@a",
  "a\nb",
  " a ",
);
const word = fc.oneof(
  { arbitrary: words, weight: 8 },
  { arbitrary: fc.string({ maxLength: 12 }), weight: 8 },
  { arbitrary: fc.string({ unit: "binary", maxLength: 4 }), weight: 1 },
);
const scalar = fc.oneof(word, fc.double(), fc.integer(), fc.boolean(), fc.constant(null));
const { file } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    scalar,
    tie("mapping"),
    fc.array(tie("value"), { maxLength: 4 }),
  ),
  mapping: fc.dictionary(word, tie("value"), { maxKeys: 5 }),
  file: fc
    .record({
      value: tie("mapping"),
      indent: fc.integer({ min: 2, max: 6 }),
      indentSeq: fc.boolean(),
      flow: fc.boolean(),
      width: fc.constantFrom(0, 20, 80),
    })
    .map(({ value, indent, indentSeq, flow, width: lineWidth }) =>
      stringify(value, { indent, indentSeq, lineWidth, collectionStyle: flow ? "flow" : "any" }),
    ),
}));

/** Pieces of YAML that change the meaning of the text around them. */
const piece = fc.oneof(
  word,
  fc.constantFrom(
    "\n",
    "\n",
    " ",
    "  ",
    "    ",
    ":",
    ": ",
    "- ",
    "-",
    ",",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "#",
    " #",
    "\\",
    "\\x41",
    "\\\n",
    "\t",
    "\r\n",
    "\n  x: 1",
    "\n- y",
    "\n    z",
    "\n\n",
    "- - ",
    "? ",
    "---\n",
    "...\n",
    "null: 1",
    "1: 1",
    "[a]: 1",
    "{a}",
    "{a: }",
    "[a: 1]",
    "[,]",
    '{"a":1}',
    "# c\n",
    "|\n",
    ">-\n",
    "&a ",
    "*a",
    "!!str ",
    "%YAML 1.1\n",
    "__proto__: ",
    "constructor: ",
    `${"x".repeat(1_030)}: 1`,
    "9".repeat(400),
  ),
);
const edits = fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(5), piece), {
  minLength: 1,
  maxLength: 3,
});
const changed = fc.tuple(fc.oneof(fc.constant(sound), file), edits).map(([text, all]) =>
  all.reduce((before, [where, length, added]) => {
    const at = Math.floor(where * before.length);
    return before.slice(0, at) + added + before.slice(at + length);
  }, text),
);

describe("plain YAML", () => {
  it("has the same value as from the reader with positions, in 500 generated files", () => {
    expect(countRead(file)).toBeGreaterThan(100);
  });

  it("has the same value as in the reader with places, in 500 files with random changes", () => {
    expect(countRead(changed)).toBeGreaterThan(25);
  });

  it("is the form of the documents' examples", () => {
    expect(readPlainYaml(sound)).toEqual(readSlowly(sound));
  });

  it.each([
    ["an anchor", "a: &x 1\nb: *x\n"],
    ["a tag", "a: !!str 1\n"],
    ["a merge of YAML 1.1", "%YAML 1.1\n---\na: { <<: { b: 1 } }\n"],
    ["a merge key", "a: { <<: { b: 1 } }\n"],
    ["a key given twice", "a: 1\na: 2\n"],
    ["a key that is no text", "1: a\n"],
    ["__proto__", 'a: { "__proto__": 1 }\n'],
    ["a block text", "a: |\n  b\n"],
    ["two documents", "a: 1\n---\nb: 2\n"],
    ["three hyphens behind blanks, which begin no document", "a:\n  ---\n"],
    ["an infinite number", "a: 1e400\n"],
    ["nothing", "# nothing\n"],
    ["a fault", "a: [\n"],
    ["a character beyond ASCII", "a: \u00e4\n"],
    ["a tab", "a:\t1\n"],
  ])("is left to the reader with places: %s", (_, text) => {
    expect(readPlainYaml(text)).toBeUndefined();
  });
});

it.each([
  ["a git merge", "a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> main\n", 2, 1, "a mark of a git merge"],
  ["the rest of a git merge", "a: 1\nb: 2\n>>>>>>> main\n", 3, 1, "a mark of a git merge"],
  ["a block of a template", "a: 1\n{{- if .b }}\nb: 2\n{{- end }}\n", 2, 1, "a template that was not rendered"],
  ["a value of a template", "# {{ c }}\na: {{ .Values.a }}\n", 2, 4, "a template that was not rendered"],
  ["a block of another template", "{% if b %}\na: 1\n", 1, 1, "a template that was not rendered"],
  ["an item without a blank", "a:\n  -b: 1\n    c: 2\n", 2, 3, "this item has no blank after its -"],
])("is told by its name: %s", (_, text, line, column, message) => {
  expect(readDocument(text).yamlProblems).toMatchObject([{ line, column, message: expect.stringContaining(message) }]);
});

const spaces = fc.constantFrom(undefined, 1, 2, 4);
const mapping = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }));

describe("a configuration in JSON", () => {
  it("has the same value as when read as YAML", () => {
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
  ])("has the same value as when read as YAML: %s", (text) => expect(readDocument(text).value).toEqual(parse(text)));

  it.each([
    ['{"a":1,"a":1}', 8, 'the key "a" is given twice; it is at line 1, column 2 too'],
    ['{"a":1,"\\u0061":1}', 8, 'the key "a" is given twice; it is at line 1, column 2 too'],
    ['{"a":{"b":{},"b":[{}]},"c":"\\":"}', 14, 'the key "b" is given twice; it is at line 1, column 7 too'],
    ['{"a":{"__proto__":{}}}', 7, "nothing can be called __proto__"],
    ['{"a":1,"\\u005f_proto__":2}', 8, "nothing can be called __proto__"],
  ])("with a trap is refused at its place: %s", (text, column, message) => {
    const { value, yamlProblems } = readDocument(text);
    expect(value).toBeUndefined();
    expect(yamlProblems).toMatchObject([{ line: 1, column, message: expect.stringContaining(message) }]);
  });

  it.each([
    ["without a comma", '{\n  "a": "canary"\n  "b": 1\n}', 3, 3, "expected ',' or '}' after property value"],
    ["without a colon", '{\n  "a": "canary",\n  "b" "c"\n}', 3, 7, /unexpected string|expected ':' after property/],
    ["without its end", '{\n  "a": ["canary",\n    { "b": 1 }', 3, 15, "expected ',' or ']' after array element"],
    ["with a bracket in place of a brace", '{"a": {"b": "canary"]}', 1, 21, "expected ',' or '}' after property value"],
    ["with a string that does not end", '{"a": "canary', 1, 14, "unterminated string"],
    ["with a brace too many", '{"a": "canary"}\n}', 2, 1, "unexpected non-whitespace character after JSON"],
  ])("that is broken is refused at one place: %s", (_, text, line, column, what) => {
    const { value, yamlProblems } = readDocument(text);
    expect(value).toBeUndefined();
    // Later versions of Node have a longer message.
    const said = typeof what === "string" ? `this is not valid JSON: ${what}` : expect.stringMatching(what);
    const fix = "correct the JSON here, or just before";
    expect(yamlProblems).toEqual([{ path: "", line, column, message: said, fix, found: undefined }]);
  });

  it.each([
    ["a word without quotes", '{"a": canary: 5}'],
    ["a key without quotes", '{"a": 1, canary {}}'],
    ["a word that looks like a place", '{"a": canary at position 1, ]}'],
  ])("that is broken never shows its text: %s", (_, text) => {
    const { yamlProblems } = readDocument(text);
    expect(yamlProblems.length).toBeGreaterThan(0);
    expect(JSON.stringify(yamlProblems)).not.toContain("canary");
  });

  it("has places", () => {
    const { locate } = readDocument('{\n\t"a": [\n\t\t{ "b\\": \\"": "value" }\n\t]\n}');
    expect(locate(["a", "0", 'b": "'])).toEqual({ line: 3, column: 5, found: '"value"' });
    expect([locate(["a"]).found, locate(["a", "0"]).found]).toEqual(["a list", "a mapping"]);
  });
});

/** The value by the slower package; undefined if it reports a problem. */
function readSlowly(text: string): unknown {
  const document = parseDocument(text, options);
  return document.errors.length + document.warnings.length > 0 ? undefined : document.toJS();
}

/** Reads 500 files: the slower package reads each that the fast one accepts, with the same value. @returns how many were accepted */
function countRead(files: fc.Arbitrary<string>): number {
  let read = 0;
  const property = fc.property(files, (text) => {
    const value = readPlainYaml(text);
    if (value === undefined) return;
    read += 1;
    expect(value).toEqual(readSlowly(text));
    expect(readDocument(text).yamlProblems).toEqual([]);
  });
  fc.assert(property, { numRuns: 500, seed });
  return read;
}
