/** Proves the product's section 2, "Site" and "Method of authentication": the choice of the site, the method and the identifier. */
import { describe, expect, it } from "vitest";
import type { AuthMethod, SigningKey, Site } from "../../src/model/environment.ts";
import { Secret } from "../../src/model/secret.ts";
import type { TokenSource } from "../../src/oauth/token.ts";
import { carry, schemes, signWith } from "../../src/serving/authentication.ts";
import { chooseSite } from "../../src/serving/site.ts";
import { environmentOf, siteOf } from "../../testkit/environment.ts";
import { issued } from "../../testkit/issued-token.ts";
import { refusalOf } from "./refusal-of.ts";

const oauth = siteOf("S1");
const child = siteOf("S2", { parent: "S1" });
const hmac = siteOf("S3", { auth: ["hmac"], keys: [key("K31"), key("K32")] });
const both = siteOf("S4", { auth: ["oauth", "hmac"], keys: [key("K41")] });
const byKey = siteOf("S5", { auth: ["hmac", "oauth"], keys: [key("K51"), key("K52")], identifyBy: "key" });
/** A site whose keys are for callbacks only. */
const callbacks = siteOf("S6", { keys: [key("K61")] });
const all = [oauth, child, hmac, both, byKey, callbacks];

const environment = (sites: readonly Site[], defaultSite?: string) => environmentOf(sites, { defaultSite });

describe("the site that is named", () => {
  it.each([
    // header, body, site, key, sent
    [undefined, undefined, "S1", undefined, "S1"],
    ["S2", undefined, "S2", undefined, "S2"],
    [undefined, "S3", "S3", undefined, "S3"],
    ["S3", "S3", "S3", undefined, "S3"],
    ["K32", undefined, "S3", "K32", "K32"],
    [undefined, "K32", "S3", "K32", "K32"],
    ["S3", "K32", "S3", "K32", "K32"],
    ["K32", "S3", "S3", "K32", "K32"],
    ["K32", "K32", "S3", "K32", "K32"],
    ["S5", undefined, "S5", undefined, "K51"],
    ["K52", undefined, "S5", "K52", "K52"],
    ["S5", "K52", "S5", "K52", "K52"],
  ])("header %s, body %s: %s, key %s, sent as %s", (header, inBody, named, namedKey, sent) => {
    expect(choose(header, inBody)).toMatchObject({ site: named, key: namedKey, sent });
  });

  it.each([
    ["S1", "S3"],
    ["S3", "S1"],
    ["S1", "K31"],
    ["K31", "S1"],
    ["K31", "K32"],
    ["K31", "K41"],
    ["S2", "S1"],
  ])("header %s and body %s contradict each other", (header, inBody) => {
    expect(refusalOf(() => choose(header, inBody))).toMatchObject({ code: "site_conflict", status: 422 });
  });

  it.each([
    ["S9", undefined],
    [undefined, "S9"],
    ["K99", undefined],
    [undefined, "K99"],
    ["S9", "S1"],
    ["S1", "S9"],
    ["", undefined],
    [undefined, ""],
    ["s1", undefined],
    ["S1 ", undefined],
    ["__proto__", undefined],
    ["constructor", undefined],
  ])("header %j or body %j is no site", (header, inBody) => {
    const refusal = refusalOf(() => choose(header, inBody));
    expect(refusal).toMatchObject({ code: "site_not_configured", status: 403 });
    expect(refusal.message).toContain("environment sandbox");
  });

  it.each([
    ["a header's", "S9", undefined, undefined, "in Countersign-Site, S9, is not", "S1, S2, S3 and 3 more."],
    ["a header's that may be a secret", "Kd81kfhq0a7zx5mn", undefined, undefined, "in Countersign-Site is not", "S1, "],
    ["a parameter's", undefined, "S9", undefined, "in site_identifier is not", "S1, S2, S3 and 3 more."],
    [
      "that of a caller with few sites",
      "S9",
      undefined,
      new Set(["S5"]),
      "in Countersign-Site, S9, is not",
      "here: S5.",
    ],
  ])("a refusal names the requested site and the allowed ones: %s", (_, header, inBody, sites, asked, usable) => {
    const options = { site: header, auth: undefined };
    const caller = sites && { sites };
    const { message, causedBy } = refusalOf(() => chooseSite(environment(all, "S1"), options, inBody, caller));
    expect(message).toContain(asked);
    // The log has the site of the header, unless it may be a secret; never a parameter's value.
    expect(causedBy).toBe(header === "S9" ? "Countersign-Site S9" : header ? "Countersign-Site" : "site_identifier");
    expect(message).toContain(usable);
    expect(message).not.toContain("Kd81");
    if (inBody !== undefined) expect(message).not.toContain(inBody);
  });
});

describe("a site or key of another environment", () => {
  const sandbox = environment([oauth]);
  const environments = new Map(
    [sandbox, { ...environment([hmac]), name: "production" }].map((each) => [each.name, each]),
  );
  const ask = (header?: string, inBody?: string, caller?: { sites: ReadonlySet<string> | "any" }) =>
    refusalOf(() => chooseSite(sandbox, { site: header, auth: undefined }, inBody, caller, environments)).message;

  it.each([
    ["S3", undefined, ", S3, "],
    ["K32", undefined, ", K32, "],
    [undefined, "S3", " "],
  ])("header %s, body %s: the refusal names that environment", (header, inBody, asked) => {
    const where = header === undefined ? "site_identifier" : "Countersign-Site";
    expect(ask(header, inBody)).toBe(
      `The site or key in ${where}${asked}is configured in environment production, not in environment sandbox, which this listener serves. ` +
        "Sites that can be used here: S1.",
    );
  });

  it("a caller with few sites does not learn of others", () => {
    expect(ask("S3", undefined, { sites: new Set(["S1"]) })).not.toContain("production");
    expect(ask("S3", undefined, { sites: "any" })).toContain("production");
    expect(ask("S9")).toContain("is not configured in environment sandbox");
  });
});

describe("no site is named", () => {
  it("the default site, though it is not the only one", () => {
    const chosen = choose(undefined, undefined, undefined, environment(all, "S3"));
    expect(chosen).toMatchObject({ site: "S3", key: undefined, sent: "S3" });
  });

  it.each([
    ["several sites", environment([oauth, child])],
    ["no site at all", environment([])],
  ])("%s: a site must be named", (_, at) => {
    const refusal = refusalOf(() => choose(undefined, undefined, undefined, at));
    expect(refusal).toMatchObject({ code: "site_required", status: 422 });
    const known = at.sites.size === 0 ? "No site can be used here." : "Sites that can be used here: S1, S2.";
    expect(refusal.message).toContain(`name one in the header Countersign-Site. ${known}`);
  });
});

describe("the method of authentication", () => {
  it.each([
    ["S1", undefined, "oauth"],
    ["S3", undefined, "hmac"],
    ["S4", undefined, "oauth"],
    ["S4", "hmac", "hmac"],
    ["S4", "oauth", "oauth"],
    ["S5", undefined, "hmac"],
    ["S5", "oauth", "oauth"],
    // A key selects the key, never the method.
    ["K41", undefined, "oauth"],
    ["K41", "hmac", "hmac"],
    ["K61", undefined, "oauth"],
  ] as const)("%s, asked for %s: %s", (named, asked, auth) => {
    expect(choose(named, undefined, asked).auth).toBe(auth);
  });

  it.each([
    ["S1", "hmac", "only for oauth"],
    ["S3", "oauth", "only for hmac"],
    ["S6", "hmac", "only for oauth"],
    ["K61", "hmac", "only for oauth"],
    ["K31", "oauth", "only for hmac"],
  ] as const)("%s does not have %s", (named, asked, said) => {
    const refusal = refusalOf(() => choose(named, undefined, asked));
    expect(refusal).toMatchObject({ code: "auth_not_configured", status: 403 });
    expect(refusal.message).toContain(said);
  });

  it("identifies a site by its default key with HMAC only", () => {
    expect(choose("S5").sent).toBe("K51");
    expect(choose("S5", undefined, "oauth").sent).toBe("S5");
  });
});

describe("the key that signs (spec 5.3)", () => {
  it("is the named key, or the default key, whichever position it has", () => {
    const [first, second] = [key("K71"), key("K72")];
    const at = siteOf("S7", { keys: [first, second], defaultKey: second });
    const signing = (named?: string) => signWith({ environment: environment([at]), site: at, key: named });
    expect(signing()).toMatchObject({ key: second.identifier, identifier: "S7" });
    expect(signing("K71")).toMatchObject({ key: first.identifier, identifier: "K71" });
  });

  it.each([
    [oauth, undefined],
    [hmac, "K41"],
  ])("is never another site's key, and never missing: %#", (at, named) => {
    expect(() => signWith({ environment: environment(all), site: at, key: named })).toThrow("has a key");
  });
});

function key(identifier: string): SigningKey {
  return { identifier, version: "3.0", secret: new Secret("0123456789abcdef") };
}

const token = { ...issued("t", 0), id: "1", credential: "blue", issuedAtMs: 0 };

function choose(header?: string, inBody?: string, auth?: AuthMethod, at = environment(all, "S1")) {
  const { site, key, scheme } = chooseSite(at, { site: header, auth }, inBody);
  const route = { environment: at, site, key };
  const { identifier } = scheme === schemes.hmac ? signWith(route) : carry(token, {} as TokenSource, route);
  return { site: site.identifier, auth: scheme.name, key, sent: identifier };
}
