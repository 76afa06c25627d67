import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Secret } from "../../src/model/secret.ts";
import type { TokenSource } from "../../src/oauth/token.ts";
import { authenticate, stamp } from "../../src/orders/authenticate.ts";
import { enrich, type PreparedRequest } from "../../src/orders/enrich.ts";
import { readParameters } from "../../src/parameters/parameters.ts";
import { serialise } from "../../src/parameters/signature.ts";
import { carry, signWith } from "../../src/serving/authentication.ts";
import type { AuthMaterial, Route } from "../../src/serving/messages.ts";
import { issued } from "../../testkit/issued-token.ts";

const one = (value: string) => [{ name: "a", value, isPlain: false }];

it.each([
  ["nothing", [], "{}"],
  ["quotes, backslashes, controls", one('"\\\n\u0000'), String.raw`{"a":"\"\\\n\u0000"}`],
  ["characters beyond ASCII", one("é€\u{1F600}\u2028"), '{"a":"é€\u{1F600}\u2028"}'],
])("the written body has %s", (_, parameters, text) => {
  expect(serialise(parameters)).toBe(text);
});

/** The members of a flat object of strings, in the order of the text, found with JSON.parse alone. */
function membersInOrder(text: string): [string, string][] {
  const literals = text.match(/"(?:[^"\\]|\\.)*"/g)?.map((literal) => JSON.parse(literal) as string) ?? [];
  return Array.from({ length: literals.length / 2 }, (_, index) => [
    literals[2 * index] ?? "",
    literals[2 * index + 1] ?? "",
  ]);
}

describe("the signed values are the sent values", () => {
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

  /** A string literal in which any character may be an escape. */
  const escaped = (text: string) =>
    text.replace(/[a-z\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const key = { identifier: "K1", version: "3.0", secret: new Secret("k") };
  const route = {
    environment: { baseUrl: { path: "" } },
    site: { ...site, exempt, defaultKey: key },
  } as unknown as Route;
  const read = (body: string) => enrich(readParameters(new TextEncoder().encode(body)), site);
  const render = (body: string, material: AuthMaterial, unixSeconds: () => number) => {
    const prepared: PreparedRequest = { route, headers: [], parameters: read(body) };
    return authenticate({ request: prepared, material }, unixSeconds).render;
  };

  it("to the character, in order, in any body: the signature covers the values that the service reads from the body", () => {
    fc.assert(
      fc.property(bodies, fc.boolean(), (body, isEscaped) => {
        let seconds = 1582149833;
        const renderSigned = render(
          isEscaped
            ? body.replace(/"(?:[^"\\]|\\.)*"/g, (literal) => (literal.includes("\\") ? literal : escaped(literal)))
            : body,
          signWith(route),
          () => seconds,
        );
        const first = renderSigned();
        seconds += 1;
        for (const [text, timestamp] of [
          [first, "1582149833"],
          [renderSigned(), "1582149834"],
        ] as const) {
          const arrived = membersInOrder(text);
          const stamped = stamp(read(body), "S1", Number(timestamp)).map(({ name, value }) => [name, value]);
          expect(arrived).toEqual([...stamped, ["signature", expect.any(String)]]);
          expect(arrived.at(-2)).toEqual(["timestamp", timestamp]);
          const object: Record<string, unknown> = JSON.parse(text);
          expect(Object.keys(object).length).toBe(arrived.length);
          for (const [name, value] of arrived) expect(Object.getOwnPropertyDescriptor(object, name)?.value).toBe(value);

          const signed = arrived.filter(([name]) => !exempt.has(name));
          signed.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
          const signature = createHmac("sha256", "k").update(signed.flat().join("")).digest("hex");
          expect(arrived.at(-1)).toEqual(["signature", signature]);
          expect(Buffer.byteLength(text)).toBe(Buffer.byteLength(first));
        }
      }),
      { numRuns: 3_000 },
    );
  });

  it("and with a token nothing is signed", () => {
    const token = { ...issued("t", 0), id: "1", credential: "c", issuedAtMs: 0 };
    expect(render('{"a":"\\n"}', carry(token, {} as TokenSource, route), () => 1)()).toBe(
      String.raw`{"a":"\n","version":"3.0","site_identifier":"S1","timestamp":"1"}`,
    );
  });
});
