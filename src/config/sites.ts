import type { AuthMethod, SigningKey, Site } from "../model/environment.ts";
import { defaultExempt, exemptNames, requiredNames } from "../signing/parameter-rules.ts";
import { loadCredentials } from "./credentials/credentials.ts";
import type { EnvironmentSettings } from "./credentials/token-settings.ts";
import type { RawChild, RawEnvironment, RawKey } from "./environment-schema.ts";
import type { LoadContext } from "./load-context.ts";
import { compareVersions } from "./values.ts";

/** Where neither the site nor its parent names one. */
const defaultVersion = "3.0";
/** OAuth is not available for 1.8 and 2.0 (spec 9). */
const firstVersionWithOAuth = "3.0";
const alwaysSigned: ReadonlySet<string> = new Set(requiredNames);

/** A site, as written and as loaded. */
interface LoadedSite {
  readonly raw: RawChild;
  readonly context: LoadContext;
  readonly site: Site;
}

/** Loads an environment's sites and their children, all by their S… identifiers. */
export async function loadSites(
  raw: RawEnvironment["sites"],
  environment: EnvironmentSettings,
  context: LoadContext,
): Promise<ReadonlyMap<string, Site>> {
  const sites = new Map<string, Site>();
  const add = (site: Site, at: LoadContext) => {
    const { identifier } = site;
    if (sites.has(identifier)) at.report("this site is configured twice", "keep one of them", identifier);
    sites.set(identifier, site);
  };
  for (const [identifier, { children, ...own }] of Object.entries(raw)) {
    const at = context.in(identifier);
    const site = await loadSite(identifier, own, environment, at);
    add(site, at);
    for (const [identifier, child] of Object.entries(children)) {
      const atChild = at.in("children", identifier);
      add(await loadSite(identifier, child, environment, atChild, { raw: own, context: at, site }), atChild);
    }
  }
  return sites;
}

/** A child inherits from its parent what it does not say itself, but for `auth` and keys. */
async function loadSite(
  identifier: string,
  raw: RawChild,
  environment: EnvironmentSettings,
  context: LoadContext,
  parent?: LoadedSite,
): Promise<Site> {
  const inherited = parent?.site;
  const version = raw.version ?? inherited?.version ?? defaultVersion;
  const keys = await loadKeys(raw.keys ?? [], version, context.in("keys"));
  const credentials =
    raw.credentials === undefined
      ? inherited?.credentials
      : await loadCredentials(identifier, raw.credentials, environment, context.in("credentials"));
  const auth = chooseAuth(raw, context, parent);
  if (auth.includes("oauth") && compareVersions(version, firstVersionWithOAuth) < 0) {
    const holder = raw.version === undefined ? (parent?.context ?? context) : context;
    const fix = "use version 3.0 or later, or auth: [hmac] (spec 9)";
    holder.in("version").report(`OAuth is not available for version ${version}`, fix);
  }
  checkExempt(raw.exempt ?? [], context.in("exempt"));
  const checksCallerSignature = raw.checkCallerSignature ?? parent?.raw.checkCallerSignature;
  if (raw.checkCallerSignature === "report" && raw.keys === undefined) {
    const fix = "add the keys that callers sign with; with auth: [oauth], or credentials, they sign nothing here";
    context.in("checkCallerSignature").report("the site has no keys to check signatures with (spec 5.3)", fix);
  }
  if (auth.includes("hmac")) {
    const message = "new clients must use OAuth from 2026-08-01; existing ones may stay with HMAC (spec 5.1)";
    context.warn("hmac_for_existing_clients", message, "move the site to OAuth");
  }
  return {
    identifier,
    parent: inherited?.identifier,
    version,
    auth,
    identifyBy: raw.identifyBy ?? inherited?.identifyBy ?? "site",
    characters: raw.characters ?? inherited?.characters ?? "reject",
    exempt: exemptNames(raw.exempt ?? inherited?.exempt ?? defaultExempt),
    ...(checksCallerSignature === "report" ? { checksCallerSignature: true } : {}),
    decimals: new Set(raw.decimals ?? inherited?.decimals ?? []),
    ...keys,
    credentials,
  };
}

export function checkExempt(names: readonly string[], context: LoadContext): void {
  for (const [name, at] of context.each(names)) {
    if (alwaysSigned.has(name)) at.report(`${name} must be signed`, "remove it from exempt (spec 5.2 step 2)");
  }
}

/** As written, where the site has the means for each method; else oauth where there are credentials, else hmac. */
function chooseAuth(raw: RawChild, context: LoadContext, parent?: LoadedSite): Site["auth"] {
  // By what is written: files that cannot be read are reported already.
  const hasMeans = { oauth: (raw.credentials ?? parent?.raw.credentials) !== undefined, hmac: raw.keys !== undefined };
  const [first, ...rest] = raw.auth ?? [];
  if (first === undefined) {
    if (!hasMeans.oauth && !hasMeans.hmac) {
      context.report("the site has neither credentials nor keys", "add credentials (OAuth) or keys (HMAC)");
    }
    return hasMeans.oauth ? ["oauth"] : ["hmac"];
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
  if (raw.length > 1 && defaults !== 1) {
    const fix = "write default: true at the site's default key pair (spec 5.3)";
    context.report("several keys need exactly one default", fix, `${defaults} defaults`);
  }
  const keys: SigningKey[] = [];
  let defaultKey: SigningKey | undefined;
  for (const [given, at] of context.each(raw)) {
    const { identifier, version = siteVersion } = given;
    const atSecret = at.in("secret");
    at.in("identifier").addUniqueValue("key identifier", identifier);
    if (version !== siteVersion) {
      const message = `a key of version ${version} cannot sign calls of version ${siteVersion}`;
      at.in("version").report(message, "use a key of the site's version (spec 5.2 rule 6)");
    }
    const secret = await atSecret.loadSecret(given.secret);
    if (secret === undefined) continue;
    atSecret.addUniqueValue("secret", secret);
    const key = { identifier, version, secret };
    keys.push(key);
    if (given.default || raw.length === 1) defaultKey = key;
  }
  return { keys, defaultKey };
}
