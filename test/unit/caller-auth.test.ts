/** Which Proxy-Authorization headers admit a caller. */
import { describe, expect, it } from "vitest";
import { Secret } from "../../src/model/secret.ts";
import { authenticateCaller } from "../../src/serving/caller-auth.ts";
import { CallerRegistry, type KnownCaller } from "../../src/serving/caller-registry.ts";
import type { HeaderLine } from "./header-line.ts";
import { refusalOf } from "./refusal-of.ts";

const token = "canary-caller.token_1~+/==";
const older = "canary-caller-token-0";
const caller: KnownCaller = {
  name: "orders",
  tokens: [],
  certificates: [],
  sites: "any",
  operations: "any",
  requestsPerSecond: undefined,
  rate: undefined,
};
const known: readonly KnownCaller[] = [
  { ...caller, name: "new", tokens: [new Secret(token)] },
  { ...caller, name: "old", tokens: [new Secret("canary-another-token"), new Secret(older)] },
];
const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

const authenticate = (lines: readonly HeaderLine[], callers = known) =>
  authenticateCaller({ headers: lines.flat() }, { callers: new CallerRegistry(callers) });

describe("a caller is admitted", () => {
  it.each([
    ["with the token", `Bearer ${token}`],
    ["with the older token", `Bearer ${older}`],
    ["whatever the scheme's case", `bEaReR ${token}`],
    ["with several spaces (RFC 9110 section 11.4)", `Bearer   ${token}`],
    ["with the token as the password", basic(`app:${token}`)],
    ["with the second token as the password", basic(`app:${older}`)],
    ["with the password alone", basic(`:${token}`)],
    ["with a user beyond ASCII", basic(`jürgen:${token}`)],
    ["with Basic in small letters", basic(`app:${token}`).replace("Basic", "basic")],
    ["with base64 that is not padded", basic(`:${older}`).replace(/=+$/, "")],
  ])("%s", (_, value) => {
    expect(() => authenticate([["pRoXy-authorization", value]])).not.toThrow();
  });

  it("without any token if none is demanded", () => {
    expect(() => authenticateCaller({ headers: [] }, {})).not.toThrow();
    expect(() => authenticateCaller({ headers: ["Proxy-Authorization", "Bearer x"] }, {})).not.toThrow();
  });
});

describe("a caller is refused", () => {
  it.each([
    ["one byte too few", token.slice(0, -1)],
    ["one byte too many", `${token}=`],
    ["another first byte", `C${token.slice(1)}`],
    ["another last byte of the same length", `${older.slice(0, -1)}1`],
    ["another case", older.toUpperCase()],
    ["both tokens in a row", `${older}${token}`],
    ["a NUL at its end", `${older}\0`],
    ["nothing", ""],
  ])("whose token has %s, also as a password", (_, wrong) => {
    const isWritten = /^[\x21-\x7e]+$/.test(wrong);
    const said = isWritten ? /^The token in Proxy-Authorization is not one of/ : /holds no token that can be read/;
    expect(saidAgainst([["Proxy-Authorization", `Bearer ${wrong}`]])).toMatch(said);
    expect(saidAgainst([["Proxy-Authorization", basic(`app:${wrong}`)]])).toMatch(/^The token in Proxy-Authorization/);
  });

  it.each([
    ["an empty header", ""],
    ["no scheme", token],
    ["a scheme alone", "Bearer"],
    ["a scheme of another kind", `Digest username="app", response="${older}"`],
    ["a scheme that begins like Bearer", `BearerX ${token}`],
    ["a tab instead of a space", `Bearer\t${token}`],
    ["more text after the token", `Bearer ${older} more`],
    ["two credentials in one line", `Bearer ${older}, Bearer ${older}`],
    ["a text that is not base64", `Basic ${older}`],
    ["base64 that ends early", `Basic ${Buffer.from(`app:${older}`).toString("base64").slice(0, 8)}!`],
    ["base64 without a colon in it", basic(token)],
  ])("that sends %s", (_, value) => {
    expect(saidAgainst([["Proxy-Authorization", value]])).toMatch(
      /^Proxy-Authorization holds no token that can be read/,
    );
  });

  it("that sends no token, or sends it in another header", () => {
    const names = ["Authorization", "Proxy_Authorization", "X-Proxy-Authorization"];
    const elsewhere = names.map((name): HeaderLine => [name, `Bearer ${token}`]);
    expect(saidAgainst([])).toMatch(/^The request has no Proxy-Authorization\. This listener wants a token/);
    expect(saidAgainst(elsewhere.slice(1))).toMatch(/^The request has no Proxy-Authorization\. This listener/);
    const said = saidAgainst(elsewhere);
    expect(said).toMatch(/^The request has no Proxy-Authorization; its Authorization is not read here\. This listener/);
    expect(said).not.toContain(token);
  });

  it("that sends the token twice, even if both are right", () => {
    const line: HeaderLine = ["Proxy-Authorization", `Bearer ${token}`];
    expect(saidAgainst([line, line])).toMatch(/^Proxy-Authorization was given 2 times; give it once\./);
    expect(saidAgainst([line, ["proxy-authorization", "Bearer x"]])).toMatch(/2 times/);
  });

  it("if the listener knows no token", () => {
    expect(saidAgainst([["Proxy-Authorization", `Bearer ${token}`]], [])).toMatch(/not one of/);
  });
});

/** The reason why these header lines are refused. */
function saidAgainst(lines: readonly HeaderLine[], callers = known): string {
  const refusal = refusalOf(() => authenticate(lines, callers));
  expect(refusal).toMatchObject({
    ...{ code: "caller_not_authenticated", status: 407, outcome: "not_sent" },
    headers: [
      ...["Proxy-Authenticate", 'Bearer realm="countersign"'],
      ...["Proxy-Authenticate", 'Basic realm="countersign", charset="UTF-8"'],
    ],
  });
  expect(refusal.message).not.toContain("canary");
  return refusal.message;
}
