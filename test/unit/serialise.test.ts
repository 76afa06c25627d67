import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { serialise, stamp } from "../../src/proxy/authenticate.ts";
import { enrich } from "../../src/proxy/enrich.ts";
import { readParameters } from "../../src/proxy/parameters.ts";
import { stringToSign } from "../../src/signing/hmac.ts";

const written = (pairs: Iterable<readonly [string, string]>) => serialise(pairs);

describe("what is written", () => {
  it.each([
    ["nothing", [], "{}"],
    ["one", [["a", "1"]], '{"a":"1"}'],
    [
      "names like integers, in the order given",
      [
        ["b", "1"],
        ["2", ""],
        ["1", ""],
      ],
      '{"b":"1","2":"","1":""}',
    ],
    [
      "__proto__",
      [
        ["__proto__", "x"],
        ["a", "1"],
      ],
      '{"__proto__":"x","a":"1"}',
    ],
    ["quotes, backslashes, controls", [["a", '"\\\n\u0000']], String.raw`{"a":"\"\\\n\u0000"}`],
    ["characters beyond ASCII", [["a", "é€\u{1F600}\u2028"]], '{"a":"é€\u{1F600}\u2028"}'],
  ] as const)("%s", (_, pairs, text) => {
    expect(written(pairs)).toBe(text);
  });

  it("is UTF-8", () => {
    expect([...Buffer.from(serialise([["a", "é"]]))]).toEqual(
      [...'{"a":"'].map((c) => c.charCodeAt(0)).concat(0xc3, 0xa9, 0x22, 0x7d),
    );
  });
});

/** The members of a flat object of strings in the order of the text, said with JSON.parse alone. */
function membersInOrder(text: string): [string, string][] {
  const literals = text.match(/"(?:[^"\\]|\\.)*"/g)?.map((literal) => JSON.parse(literal) as string) ?? [];
  return Array.from({ length: literals.length / 2 }, (_, index) => [
    literals[2 * index] ?? "",
    literals[2 * index + 1] ?? "",
  ]);
}

describe("what is signed is what is sent (row 19)", () => {
  const names = fc.oneof(
    fc.string({ unit: fc.constantFrom(..."abcXYZ019_.-"), minLength: 1, maxLength: 12 }),
    fc.constantFrom("__proto__", "constructor", "toString", "1", "0", "version", "site_identifier", "format", "call"),
    fc.constantFrom("timestamp", "signature"),
  );
  const values = fc.oneof(fc.string({ unit: "binary" }), fc.boolean(), fc.integer());
  const bodies = fc
    .uniqueArray(fc.tuple(names, values), { selector: ([name]) => name, maxLength: 12 })
    .map((pairs) => pairs.filter(([name]) => name !== "version"))
    .map((pairs) => `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`);
  const site = { identifier: "S1", version: "3.0", decimals: new Set<string>() };
  const exempt = new Set(["format", "signature", "call"]);

  it("to the string, in order, in any body", () => {
    fc.assert(
      fc.property(bodies, (body) => {
        const sent = stamp(enrich(readParameters(new TextEncoder().encode(body)), site, "S1"), 1582149833);
        const text = written(sent.set("signature", "0".repeat(64)));

        const parsed = membersInOrder(text);
        expect(parsed).toEqual([...sent]);
        const object: Record<string, unknown> = JSON.parse(text);
        expect(Object.keys(object).length).toBe(parsed.length);
        for (const [name, value] of parsed) expect(Object.getOwnPropertyDescriptor(object, name)?.value).toBe(value);

        const signed = parsed.filter(([name]) => !["format", "signature", "call"].includes(name));
        signed.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        expect(stringToSign(sent, exempt)).toBe(signed.map(([name, value]) => name + value).join(""));
      }),
      { numRuns: 5_000 },
    );
  });
});
