import { systemClock } from "../../model/clock.ts";
import type { AuthMethod, SigningKey, Site } from "../../model/environment.ts";
import { exemptNames, requiredNames } from "../../parameters/signature.ts";
import { formatPath } from "../diagnostics.ts";
import { namedSites, type RawEnvironment } from "../form/environment.ts";
import type { RawKey, RawParent, RawSite } from "../form/site.ts";
import { loadCredentials } from "./credentials.ts";
import type { LoadContext } from "./load-context.ts";
import type { EnvironmentSettings } from "./token-settings.ts";

/** OAuth is not available for 1.8 and 2.0 (spec 9). */
const firstMajorWithOAuth = 3;
const alwaysSigned: ReadonlySet<string> = new Set(requiredNames);

/** A site, as written and as loaded. */
interface LoadedSite {
  readonly raw: RawSite;
  readonly context: LoadContext;
  readonly site: Site;
}

/** Sites in the configuration itself, and their child sites, as written; none if `sites` is a folder. */
export function withChildren(sites: RawEnvironment["sites"]): [identifier: string, site: RawSite][] {
  return Object.entries(namedSites(sites)).flatMap((site) => [site, ...Object.entries(site[1].children)]);
}

/** Whether the site gets tokens from the environment's authorization server. */
export function asksAuthorizationServer({ credentials = [] }: RawSite): boolean {
  return credentials.some((set) => set.token?.url === undefined);
}

/** The site of each Key Identifier (K…). */
export function siteOfKeyIn(sites: ReadonlyMap<string, Site>): ReadonlyMap<string, Site> {
  const all = new Map<string, Site>();
  for (const site of sites.values()) for (const { identifier } of site.keys) all.set(identifier, site);
  return all;
}

/** Loads an environment's sites and their child sites. */
export async function loadSites(
  raw: Iterable<readonly [identifier: string, site: RawParent]>,
  environment: EnvironmentSettings,
  context: LoadContext,
): Promise<readonly Site[]> {
  const sites = new Map<string, Site>();
  const add = (site: Site, at: LoadContext) => {
    const { identifier } = site;
    if (sites.has(identifier)) at.report("this site is configured twice", "keep one of them", identifier);
    sites.set(identifier, site);
  };
  for (const [identifier, { children, ...own }] of raw) {
    const at = context.in(identifier);
    const site = await loadSite(identifier, own, environment, at);
    add(site, at);
    for (const [identifier, child] of Object.entries(children)) {
      const atChild = at.in("children", identifier);
      add(await loadSite(identifier, child, environment, atChild, { raw: own, context: at, site }), atChild);
    }
  }
  return [...sites.values()];
}

async function loadSite(
  identifier: string,
  raw: RawSite,
  environment: EnvironmentSettings,
  context: LoadContext,
  parent?: LoadedSite,
): Promise<Site> {
  const { version, identifyBy, characters, exempt, decimals } = raw;
  const keys = await loadKeys(raw.keys ?? [], version, context.in("keys"));
  const credentials =
    raw.credentials === undefined
      ? parent?.site.credentials
      : await loadCredentials(identifier, raw.credentials, environment, context.in("credentials"));
  const auth = checkAuth(raw, context, parent);
  const allowsOAuth = Number.parseInt(version, 10) >= firstMajorWithOAuth;
  if (auth.includes("oauth") && !allowsOAuth) {
    const holder = parent?.raw.version === version ? parent.context : context;
    const fix = "use version 3.0 or later, or auth: [hmac] (spec 9)";
    holder.in("version").report(`OAuth is not available for version ${version}`, fix);
  }
  if (raw.bridge !== undefined && auth.join() !== "oauth,hmac") {
    const fix = "write auth: [oauth, hmac], with credentials and keys, or remove bridge";
    context.in("bridge").report("only a site that uses OAuth first, and HMAC too, can sign in its place", fix);
  }
  if (exempt !== parent?.raw.exempt) checkExempt(exempt, context.in("exempt"));
  const checksCallerSignature = raw.checkCallerSignature ?? parent?.raw.checkCallerSignature;
  if (raw.checkCallerSignature === "report" && raw.keys === undefined) {
    const fix = "add the keys that callers sign with; with auth: [oauth], or credentials, they sign nothing here";
    context.in("checkCallerSignature").report("the site has no keys to check signatures with (spec 5.3)", fix);
  }
  if (auth.includes("hmac") && allowsOAuth) {
    const who = raw.bridge === undefined ? "older ones may sign" : "the outage bridge is for older ones";
    const message = `new clients must use OAuth since 2026-08-01; ${who} (spec 5.1)`;
    context.warn("hmac_for_existing_clients", message, nextStepToOAuth(auth, raw.bridge, credentials));
  }
  return {
    identifier,
    parent: parent?.site.identifier,
    version,
    auth,
    ...(raw.bridge && { bridge: raw.bridge }),
    identifyBy,
    characters,
    exempt: share(exemptNames(exempt)),
    ...(checksCallerSignature === "report" ? { checksCallerSignature: true } : {}),
    decimals: share(new Set(decimals)),
    ...keys,
    ...(raw.alsoVerifyWith && { alsoVerifyWith: loadAlsoVerifyWith(raw.alsoVerifyWith, raw.keys, keys, context) }),
    credentials,
  };
}

/** What a site that may sign lacks for OAuth alone: a site that has taken a step is not told to take it. */
function nextStepToOAuth(
  [first, second]: Site["auth"],
  bridge: Site["bridge"],
  credentials: Site["credentials"],
): string {
  if (bridge !== undefined) return "for a new client, remove bridge, and hmac from auth";
  if (first === "oauth") return "for a new client, remove hmac from auth";
  if (second === "oauth") return "put oauth first in auth, and remove hmac in the end";
  return credentials === undefined ? "move the site to OAuth" : "the site has credentials: add oauth to auth";
}

const shared = new Map<string, ReadonlySet<string>>();

/** One set object for all sites with the same names: thousands of sites have few different sets. */
function share(names: ReadonlySet<string>): ReadonlySet<string> {
  const key = [...names].join(" ");
  const known = shared.get(key) ?? names;
  shared.set(key, known);
  return known;
}

export function checkExempt(names: readonly string[], context: LoadContext): void {
  for (const [name, at] of context.each(names)) {
    if (alwaysSigned.has(name)) at.report(`${name} must be signed`, "remove it from exempt (spec 5.2 step 2)");
  }
}

/** The methods of a site, which needs credentials for oauth and keys for hmac. */
function checkAuth(raw: RawSite, context: LoadContext, parent?: LoadedSite): Site["auth"] {
  // Only what is written counts: files that cannot be read are reported already.
  const hasMeans = { oauth: (raw.credentials ?? parent?.raw.credentials) !== undefined, hmac: raw.keys !== undefined };
  const [first, ...rest] = raw.auth ?? [];
  if (first === undefined) {
    context.report(
      "the site has neither credentials nor keys",
      "add credentials (OAuth), or keys (HMAC) of a client from before 2026-08-01",
    );
    return ["hmac"];
  }
  const auth: [AuthMethod, ...AuthMethod[]] = [first, ...rest];
  for (const [index, method] of auth.entries()) {
    const at = context.in("auth", index);
    const means = method === "oauth" ? "credentials" : "keys";
    if (!hasMeans[method]) at.report(`the site has no ${means} for ${method}`, `add ${means}, or remove ${method}`);
    if (auth.indexOf(method) !== index) at.report(`${method} is named twice`, "remove one");
  }
  return auth;
}

/** Loads a site's HMAC key pairs. */
async function loadKeys(
  raw: readonly RawKey[],
  siteVersion: string,
  context: LoadContext,
): Promise<Pick<Site, "keys" | "defaultKey">> {
  const defaults = raw.filter((key) => key.default).length;
  if (raw.length > 0 && defaults !== 1) {
    const fix = "write default: true at the site's default key pair (spec 5.3)";
    context.report("several keys need exactly one default", fix, `${defaults} defaults`);
  }
  const keys: SigningKey[] = [];
  let defaultKey: SigningKey | undefined;
  for (const [given, at] of context.each(raw)) {
    const { identifier, version = siteVersion } = given;
    const atSecret = at.in("secret");
    at.in("identifier").addUniqueValue("key identifier", identifier, formatPath(at.path));
    if (version !== siteVersion) {
      const message = `a key of version ${version} cannot sign calls of version ${siteVersion}`;
      at.in("version").report(message, "use a key of the site's version (spec 5.2 rule 6)");
    }
    const secret = await atSecret.loadSecret(given.secret, "bytes");
    if (secret === undefined) continue;
    atSecret.addUniqueValue("secret", secret);
    const key = { identifier, version, secret };
    keys.push(key);
    if (given.default) defaultKey = key;
  }
  return { keys, defaultKey };
}

/** Key pairs that verify callbacks for a time, while the default key is changed at the portal. */
function loadAlsoVerifyWith(
  raw: NonNullable<RawSite["alsoVerifyWith"]>,
  rawKeys: readonly RawKey[] = [],
  { keys, defaultKey }: Pick<Site, "keys" | "defaultKey">,
  context: LoadContext,
): NonNullable<Site["alsoVerifyWith"]> {
  return [...context.in("alsoVerifyWith").each(raw)].flatMap(([{ key: identifier, until: untilMs }, at]) => {
    if (!rawKeys.some((key) => key.identifier === identifier)) {
      at.in("key").report("the site has no such key", "name one of its keys");
    } else if (identifier === defaultKey?.identifier) {
      at.in("key").report("the default key verifies callbacks anyway", "name another key, or remove it");
    }
    if (untilMs <= systemClock.wallMs()) {
      const fix = "remove the entry, or name a later day if the service still signs with the key";
      at.in("until").warn("until_past", `${identifier} verifies no callback any more`, fix);
    }
    const key = keys.find((each) => each.identifier === identifier);
    return key === undefined ? [] : [{ key, untilMs }];
  });
}
