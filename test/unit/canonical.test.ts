import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Secret } from "../../src/model/secret.ts";
import { allowedName, sign, stringToSign, verify } from "../../src/parameters/signature.ts";

const exempt = new Set(["format", "signature", "call"]);
const none = new Set<string>();
/** Parameters from texts of the form `name=value`. */
const named = (...written: readonly string[]) =>
  written.map((each) => ({ name: each.split("=", 1)[0] ?? "", value: each.slice(each.indexOf("=") + 1) }));
const spaced = (text: string) => named(...text.split(" ").filter((each) => each !== ""));

describe("the published example (spec 5.2)", () => {
  const parameters = spaced(
    "version=3.0 site_identifier=MySiteID timestamp=1582149833 hello=world foo=bar format=json",
  );
  const text = "foobarhelloworldsite_identifierMySiteIDtimestamp1582149833version3.0";
  const signature = "7986b4e59c15cd22fd496113c916f9739f619778812bf9ab8943af80749aadcc";
  const secret = new Secret("abc123");

  it("is signed as published", () => {
    expect(stringToSign(parameters, exempt)).toBe(text);
    expect(sign(text, secret)).toBe(signature);
  });

  it("is verified, and no variant of it", () => {
    expect(verify(text, secret, signature)).toBe(true);
    const wrong = [
      signature.toUpperCase(),
      `${signature.slice(0, -1)}d`,
      `8${signature.slice(1)}`,
      signature.slice(0, -1),
      `${signature}0`,
      ` ${signature}`,
      signature.replace("7", "\uFF17"),
      "é".repeat(32),
      "",
    ];
    for (const other of wrong) expect(verify(text, secret, other), other).toBe(false);
    expect(verify(`${text} `, secret, signature)).toBe(false);
    expect(verify(text, new Secret("abc124"), signature)).toBe(false);
  });
});

it.each([
  ["key", "", "5d5d139563c95b5967b9bd9a8c9b233a9dedb45072794cd232dc1b74832607d0"],
  // RFC 4231 test case 2.
  ["Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"],
])("the signature by %s of %j is its HMAC-SHA256", (key, text, signature) => {
  expect(sign(text, new Secret(key))).toBe(signature);
});

describe("the string to sign", () => {
  it.each([
    ["nothing", "", ""],
    ["name, then value", "b=2 a=1", "a1b2"],
    ["no separators, empty values too", "b= a=", "ab"],
    ["capitals before small letters", "a=1 B=2 b=3 A=4", "A4B2a1b3"],
    ["- and . before digits, digits before letters, _ between", "a_= aa= aA= a0= a.= a-=", "a-a.a0aAa_aa"],
    ["digits as text", "10=a 9=b 1=c", "1c10a9b"],
    ["a name before longer names that begin with it", "ab=1 a=2 abc=3", "a2ab1abc3"],
    ["names that JavaScript's objects have", "constructor=2 __proto__=1", "__proto__1constructor2"],
    ["characters beyond ASCII by their bytes", "é=3 z=1 ~=2", "z1~2é3"],
  ])("%s", (_, parameters, text) => {
    expect(stringToSign(spaced(parameters), none)).toBe(text);
  });

  it("has values unchanged", () => {
    expect(stringToSign(named("a= ä&=\n"), none)).toBe("a ä&=\n");
  });

  it("leaves out the exempt names, and only those", () => {
    const names = ["call", "Call", "format", "formats", "signature", "secret_key"];
    const parameters = names.map((name) => ({ name, value: "x" }));
    expect(stringToSign(parameters, exempt)).toBe("Callxformatsxsecret_keyx");
    expect(stringToSign(parameters, new Set([...exempt, "secret_key"]))).toBe("Callxformatsx");
  });

  it("sorts all names that are allowed by their bytes", () => {
    const name = fc.oneof(
      fc.stringMatching(allowedName),
      fc.string({ unit: fc.constantFrom(..."aAb_.-09"), minLength: 1, maxLength: 4 }),
    );
    const names = fc.uniqueArray(name, { maxLength: 20 });
    fc.assert(
      fc.property(names, (unsorted) => {
        const sorted = unsorted.map((name) => Buffer.from(name)).sort(Buffer.compare);
        const parameters = unsorted.map((name) => ({ name, value: "\n" }));
        expect(stringToSign(parameters, none)).toBe(sorted.map((name) => `${name}\n`).join(""));
      }),
      { numRuns: 5_000 },
    );
  });
});
