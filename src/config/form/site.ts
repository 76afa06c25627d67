import * as z from "zod";
import { defaultExempt } from "../../parameters/signature.ts";
import { credentialSet } from "./credentials.ts";
import {
  day,
  flag,
  keyIdentifier,
  listOf,
  mapping,
  matching,
  optional,
  parameterName,
  secretSource,
  siteIdentifier,
  withDefault,
} from "./fields.ts";

/** Quotes matter: YAML reads 3.0 as the number 3. */
const version = matching(/^\d{1,3}\.\d{1,3}$/, "write a version in quotes", "3.0");

const signingKey = mapping("One HMAC key pair.", {
  identifier: keyIdentifier.describe("Key Identifier, K… (spec 5.3); unique in its environment."),
  secret: secretSource.describe("Where the API secret key is."),
  version: optional(version).describe(
    "API version of the key; must be the site's (spec 5.2 rule 6). Default: the site's.",
  ),
  default: flag(false).describe("Whether this is the site's default key pair (spec 5.3); a sole key always is."),
});

const verifier = mapping("A key that verifies callbacks for a time.", {
  key: keyIdentifier.describe("One of the site's keys, K…, other than its default key."),
  until: day.describe("The last day on which the key verifies callbacks, in UTC."),
});

const site = {
  credentials: optional(listOf(credentialSet, 1)).describe(
    "OAuth credential sets, at most two; the second takes over when the first is refused (spec 5.4).",
  ),
  version: optional(version).describe(
    "API version of the site's calls, in quotes (spec 9). Default: \"3.0\"; a child has its parent's.",
  ),
  auth: optional(listOf(z.enum(["oauth", "hmac"]), 1)).describe(
    "Methods that the site may use; the first is its default (spec 5.1: new clients use oauth). Default: oauth if it has credentials, else hmac. " +
      "Keys of an oauth-only site are for callbacks.",
  ),
  bridge: optional(z.literal("hmac")).describe(
    "Signs requests when no token is available, instead of refusing them; for clients from before 2026-08-01 (spec 5.1), with `auth: [oauth, hmac]` (docs/tokens.md). Default: such requests are refused.",
  ),
  identifyBy: optional(z.enum(["site", "key"])).describe(
    "What HMAC sends as site_identifier (spec 5.3): the site, or its default key. Default: site.",
  ),
  characters: optional(z.enum(["reject", "warn", "off"])).describe(
    "What happens to values that break spec 5.2 rule 3, with HMAC. Default: reject.",
  ),
  exempt: optional(listOf(parameterName)).describe(
    "Parameters that are not signed (spec 5.2 step 1); `signature` never is. Default: format, signature, call.",
  ),
  checkCallerSignature: optional(z.enum(["off", "report"])).describe(
    "`report`: a caller's own signature is checked with the site's keys before it is dropped, and the result is counted (docs/moving-from-hmac.md). Default: off.",
  ),
  decimals: optional(listOf(parameterName)).describe(
    "Parameters with two decimal digits beside `*_amount` (spec 5.2 rule 2). Default: none.",
  ),
  alsoVerifyWith: optional(listOf(verifier, 1)).describe(
    "Keys that verify callbacks naming the site, beside its default key, while that key is changed at the portal. Default: none.",
  ),
  keys: optional(listOf(signingKey, 1)).describe("HMAC key pairs; of several exactly one is the default (spec 5.3)."),
};

const childSite = mapping(
  "A child site: without credentials of its own it uses its parent's; rules it does not set are its parent's.",
  site,
);

const parentSite = mapping("A site: its identity, its credentials, its rules.", {
  ...site,
  children: withDefault(z.record(siteIdentifier, childSite), {}).describe(
    "Child sites by Site Identifier (S…), one level deep.",
  ),
});

/** Default rules of a site. A child site has its parent's rules as defaults. */
const usualRules: Rules = {
  version: "3.0",
  identifyBy: "site",
  characters: "reject",
  exempt: [...defaultExempt],
  decimals: [],
};

/** Adds settings that a site leaves out: rules, the method that it has credentials or keys for, and settings of its keys. */
function fillIn<Site extends RawChild>(
  site: Site,
  { version, identifyBy, characters, exempt, decimals }: Rules,
  credentials = site.credentials,
) {
  const filled = { version, identifyBy, characters, exempt, decimals, ...site };
  filled.auth ??= credentials ? ["oauth"] : filled.keys && ["hmac"];
  for (const key of filled.keys ?? []) {
    key.version ??= filled.version;
    key.default ||= filled.keys?.length === 1;
  }
  return filled;
}

export const siteInEffect = z.codec(parentSite, z.custom<RawParent>(), {
  decode(written) {
    const parent = fillIn(written, usualRules);
    const children = Object.entries(written.children).map(([name, child]) => {
      return [name, fillIn(child, parent, child.credentials ?? parent.credentials)];
    });
    return { ...parent, children: Object.fromEntries(children) };
  },
  encode: (site) => site,
});

type RawChild = z.output<typeof childSite>;
type RuleName = "version" | "identifyBy" | "characters" | "exempt" | "decimals";
type Rules = { readonly [Name in RuleName]-?: NonNullable<RawChild[Name]> };
/** A site, or a child site, with its default rules. */
export type RawSite = Omit<RawChild, RuleName> & Rules;
export type RawParent = RawSite & { readonly children: Record<string, RawSite> };
export type RawKey = z.output<typeof signingKey>;
