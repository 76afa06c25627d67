import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FailureCode, ProxyError } from "../../src/model/errors.ts";
import { readParameters } from "../../src/parameters/parameters.ts";
import { expandNumber } from "../../src/parameters/signature.ts";
import { malformedTexts } from "./corpus/malformed-json.ts";

/** fast-check prints the seed and the shrunk document when a property fails. */
const runs = { numRuns: 5_000 };

const encode = (text: string) => new TextEncoder().encode(text);

const space = fc.string({ unit: fc.constantFrom(" ", "\t", "\n", "\r"), maxLength: 2 });
const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 25 });
const number = fc
  .tuple(
    fc.constantFrom("", "-"),
    digits.map((whole) => whole.replace(/^0+(?=\d)/, "")),
    fc.option(digits, { nil: undefined }),
    fc.constantFrom("", "e3", "E+2", "e-4", "e0", "E400", "e-9999999999"),
  )
  .map(
    ([minus, whole, fraction, exponent]) =>
      `${minus}${whole}${fraction === undefined ? "" : `.${fraction}`}${exponent}`,
  );

const anyString = literal(fc.string({ unit: "binary", minLength: 1, maxLength: 1 }));
const name = fc.oneof(
  { weight: 8, arbitrary: literal(fc.constantFrom(..."abcXYZ019_.-")) },
  { weight: 2, arbitrary: fc.constantFrom('"__proto__"', '"constructor"', '"1"', '"0"', '"order_amount"') },
  { weight: 1, arbitrary: anyString },
);
const plain = fc.oneof(anyString, number, fc.constantFrom("true", "false"));
const value = fc.oneof(
  { weight: 12, arbitrary: plain },
  { weight: 1, arbitrary: fc.constant("null") },
  { weight: 1, arbitrary: fc.json({ depthSize: "medium", stringUnit: "binary" }) },
);

const scrap = fc.constantFrom(
  "",
  "",
  '"',
  "\\",
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  " ",
  "0",
  "1",
  "-",
  "+",
  ".",
  "e",
  "E",
  "t",
  "null",
  "true",
  "\\u",
  "\\ud83d",
  "\\n",
  "\n",
  "\t",
  "\u0000",
  "\uFEFF",
  "\u00a0",
  "é",
  "//",
  "'",
  "NaN",
  '"a":1,',
  ',"a":1',
);

describe("reads as JSON.parse does, only more strictly", { timeout: 60_000 }, () => {
  it("on flat objects, nested ones and nulls", () => {
    fc.assert(
      fc.property(documentOf(value), (text) => {
        expect(readingOf(encode(text))).toEqual(expectReading(text));
      }),
      runs,
    );
  });

  it("and the values that it calls plain are written unchanged by JSON.stringify", () => {
    fc.assert(
      fc.property(documentOf(plain), (text) => {
        fc.pre(Array.isArray(expectReading(text)));
        for (const { value, isPlain } of readParameters(encode(text)).values()) {
          if (isPlain) expect(JSON.stringify(value)).toBe(`"${value}"`);
        }
      }),
      runs,
    );
  });

  it("on damaged documents", () => {
    const corpus = fc.constantFrom(...malformedTexts);
    fc.assert(
      fc.property(mutated(fc.oneof(documentOf(value), documentOf(plain), corpus)), (text) => {
        fc.pre(!/\p{Surrogate}/u.test(text)); // a cut may split a surrogate pair
        expect(readingOf(encode(text))).toEqual(text.startsWith("\uFEFF") ? "body_not_json" : expectReading(text));
      }),
      { numRuns: 10_000 },
    );
  });

  it("on damaged bytes", () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(documentOf(plain), damage, (text, changes) => {
        const body = encode(text);
        for (const [at, byte] of changes) body[at % body.length] = byte;
        const damaged = Buffer.from(body).toString("utf8");
        const isText = isUtf8(body) && !damaged.startsWith("\uFEFF");
        expect(readingOf(body)).toEqual(isText ? expectReading(damaged) : "body_not_json");
      }),
      runs,
    );
  });

  it("and means the same numbers", () => {
    fc.assert(
      fc.property(number, (text) => {
        const [, parameter] = [...readParameters(encode(`{"a":${text}}`))][0] ?? [];
        expect(parameter).toMatchObject({ kind: "number", value: text });
        const expanded = expandNumber(text);
        fc.pre(expanded !== undefined);
        expect(Number(expanded)).toBe(JSON.parse(text) + 0);
      }),
      runs,
    );
  });
});

/** The expected result for a text: the refusal's code, or the parameters as [name, kind, text]. */
type Expected = FailureCode | readonly (readonly [name: string, kind: string, text: string])[];

/**
 * Finds the result with `JSON.parse` and a regular expression over texts that `JSON.parse` has accepted: a different method, too slow
 * and too trusting for the product. No text here is nested deeper than the product's limit.
 */
function expectReading(text: string): Expected {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "body_not_json";
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "body_not_json";
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s"[\]{}:,]+/g) ?? [];
  if (tokens.some((token) => token.startsWith('"') && /\p{Surrogate}/u.test(JSON.parse(token)))) return "body_not_json";
  return judge(topLevelMembers(tokens));
}

/** Each name with its value's first token. */
function topLevelMembers(tokens: readonly string[]): [name: string, first: string][] {
  const members: [string, string][] = [];
  let depth = 0;
  tokens.forEach((token, index) => {
    if (token === "{" || token === "[") depth += 1;
    if (token === "}" || token === "]") depth -= 1;
    if (depth === 1 && token === ":") members.push([JSON.parse(tokens[index - 1] ?? ""), tokens[index + 1] ?? ""]);
  });
  return members;
}

function judge(members: readonly [name: string, first: string][]): Expected {
  const names = new Set<string>();
  for (const [name, first] of members) {
    if (name === "" || name.length > 256 || [...name].some((c) => !allowed.includes(c))) return "name_not_allowed";
    if (names.has(name)) return "duplicate_parameter";
    names.add(name);
    if (first === "null") return "null_value";
    if (first === "{" || first === "[") return "nested_value";
  }
  return members.map(([name, first]) => {
    const value: unknown = JSON.parse(first);
    return [name, typeof value, typeof value === "string" ? value : first];
  });
}

const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

function readingOf(body: Uint8Array): Expected {
  try {
    return Array.from(readParameters(body), ([name, { kind, value }]) => [name, kind, value] as const);
  } catch (error) {
    if (error instanceof ProxyError) return error.code;
    throw error;
  }
}

/** A string literal in which any character may be an escape. */
function literal(characters: fc.Arbitrary<string>) {
  return fc
    .array(fc.tuple(characters, fc.boolean()), { maxLength: 8 })
    .map(
      (parts) =>
        `"${parts.map(([c, isEscaped]) => (isEscaped ? escapeAll(c) : JSON.stringify(c).slice(1, -1))).join("")}"`,
    );
}

function escapeAll(text: string) {
  return text
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

function documentOf(values: fc.Arbitrary<string>) {
  return fc
    .array(fc.tuple(space, name, space, space, values, space), { maxLength: 6 })
    .chain((members) => fc.tuple(space, fc.constant(members), space))
    .map(([before, members, after]) => {
      const written = members.map(([a, key, b, c, given, d]) => `${a}${key}${b}:${c}${given}${d}`);
      return `${before}{${written.join(",")}}${after}`;
    });
}

/** A text, changed in one to three places. */
function mutated(texts: fc.Arbitrary<string>) {
  return fc
    .tuple(texts, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 2 }), scrap), { minLength: 1, maxLength: 3 }))
    .map(([text, cuts]) =>
      cuts.reduce((damaged, [at, dropped, inserted]) => {
        const start = at % (damaged.length + 1);
        return damaged.slice(0, start) + inserted + damaged.slice(start + dropped);
      }, text),
    );
}
