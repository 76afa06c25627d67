import { hopByHop } from "../../http/headers.ts";
import { type Address, type Environment, type Site, tokenPath } from "../../model/environment.ts";
import { listNames } from "../../model/names.ts";
import { folderOf, namedSites, type RawEnvironment } from "../form/environment.ts";
import { loadEgress } from "./egress.ts";
import type { LoadContext } from "./load-context.ts";
import { loadPassThrough } from "./pass-through.ts";
import { asksAuthorizationServer, loadSites, siteOfKeyIn, withChildren } from "./sites.ts";
import { loadTls } from "./tls.ts";
import { checkPlaintext, checkTokenSettings, type EnvironmentSettings } from "./token-settings.ts";

/** Request headers that the proxy or its authentication sets, or that belong to one connection. */
const neverForwarded: ReadonlySet<string> = new Set([
  ...hopByHop,
  "accept",
  "accept-encoding",
  "authorization",
  "content-encoding",
  "content-length",
  "content-type",
  "cookie",
  "expect",
  "host",
  "via",
]);

/**
 * Reads the changed files in an environment's folder of sites. Throws if the folder cannot be read.
 * @returns a site may be there in two versions, of which the last step of loading chooses one
 */
export type ReadSites = (environment: string, path: string, settings: EnvironmentSettings) => Promise<Iterable<Site>>;

/**
 * @param context of `environments.<name>`
 * @returns without the sites of a folder, which the last step of loading adds
 */
export async function loadEnvironment(
  name: string,
  raw: RawEnvironment,
  readSites: ReadSites,
  context: LoadContext,
): Promise<Environment> {
  const { baseUrl, authUrl, token, undecided, forwardHeaders, via, allowPlaintext: allowsPlaintext } = raw;
  checkAddresses(raw, context);
  checkPaths(raw, context);
  checkLists(raw, context);
  const tls = await loadTls(raw.tls, context.in("tls"));
  const environment: EnvironmentSettings = { ...raw, tls };
  if (token !== undefined) checkTokenSettings(token, environment, context.in("token"));
  const folder = folderOf(raw.sites);
  const atSites = context.in("sites");
  const versions =
    folder === undefined
      ? await loadSites(Object.entries(namedSites(raw.sites)), environment, atSites)
      : ((await atSites.in("folder").guard(folder, readSites(name, folder, environment))) ?? []);
  const sites = new Map(folder === undefined ? [...versions].map((site) => [site.identifier, site]) : []);
  if (folder === undefined && sites.size === 0) {
    atSites.report("there is no site", "add one");
  } else if (folder === undefined && raw.defaultSite !== undefined) {
    context.in("defaultSite").reportUnlessOneOf([...sites.keys()], raw.defaultSite, "site");
  }
  // The sites of a folder come and go: a new file must not change the site of requests that name none.
  const [only] = folder === undefined && sites.size === 1 ? sites.keys() : [];
  const defaultSite = raw.defaultSite ?? only;
  const loaded: Environment = {
    name,
    baseUrl,
    authUrl,
    operations: raw.operations.includes("*") ? "any" : new Set(raw.operations),
    passThrough: loadPassThrough({ ...raw, defaultSite }, folder ? undefined : sites, context.in("passThrough")),
    defaultSite,
    sites,
    siteOfKey: siteOfKeyIn(sites),
    undecided: undecided === undefined ? "5xx" : new Set(undecided),
    forwardHeaders,
    via,
    allowsPlaintext,
    tls,
    requestsPerConnection: raw.keepAlive.requests,
  };
  return { ...loaded, egress: await loadEgress(raw.egress, () => hostsOf(raw, versions), context.in("egress")) };
}

/** All hosts of an environment's requests and token requests. */
function hostsOf({ baseUrl, authUrl }: RawEnvironment, sites: Iterable<Site>): Address[] {
  const hosts = [baseUrl, authUrl];
  for (const { credentials } of sites) for (const { token } of credentials?.sets ?? []) hosts.push(token?.url);
  return hosts.filter((address) => address !== undefined);
}

/** @param context of `environments` */
export function warnOfSharedSites(environments: ReadonlyMap<string, Environment>, context: LoadContext): void {
  const earlier: Environment["sites"][] = [];
  for (const [name, { sites }] of environments) {
    const shared = [...sites.keys()].filter((identifier) => earlier.some((known) => known.has(identifier)));
    earlier.push(sites);
    if (shared.length === 0) continue;
    const message = `${listNames(shared)} ${shared.length === 1 ? "is" : "are"} also in another environment`;
    const fix = "compare the identifiers with each environment's portal; if they are right, acknowledge this";
    context.in(name, "sites").warn("site_in_two_environments", message, fix);
  }
}

function checkAddresses(environment: RawEnvironment, context: LoadContext): void {
  const { baseUrl, authUrl, token, allowPlaintext, sites } = environment;
  const [atBaseUrl, atAuthUrl] = [context.in("baseUrl"), context.in("authUrl")];
  atBaseUrl.addUniqueValue("origin", baseUrl.origin);
  checkPlaintext(baseUrl, allowPlaintext, atBaseUrl);
  if (authUrl !== undefined) {
    atAuthUrl.addUniqueValue("origin", authUrl.origin);
    if (authUrl.origin === baseUrl.origin) {
      const fix = "give the authorization server; it is another host than the JSON API (spec 4.2)";
      atAuthUrl.report("baseUrl and authUrl have the same origin", fix);
    }
    checkPlaintext(authUrl, allowPlaintext, atAuthUrl);
  }
  if (authUrl !== undefined && token?.url !== undefined) {
    atAuthUrl.report("authUrl and token.url both say where tokens come from", "keep one of them");
  }
  const [owner] = withChildren(sites).find(([, site]) => asksAuthorizationServer(site)) ?? [];
  if (authUrl !== undefined || token?.url !== undefined || owner === undefined) return;
  const fix = 'add the address of the authorization server, like "https://login.example"; HMAC alone needs none';
  atAuthUrl.report(`authUrl is missing: site ${owner} has credentials`, fix);
}

/** Countersign appends the token path to authUrl, and operations to baseUrl. */
function checkPaths({ baseUrl, authUrl, operations }: RawEnvironment, context: LoadContext): void {
  const check = (key: string, address: Address | undefined, ends: readonly string[]) => {
    const end = ends.find((each) => address?.path.endsWith(each));
    if (end === undefined) return;
    const fix = `write ${address?.origin}${address?.path.slice(0, -end.length)}`;
    context.in(key).report(`${key} ends with ${end}, which Countersign adds itself (spec 4.1, 4.2)`, fix);
  };
  const paths = operations.map((name) => `/${name}`);
  check("authUrl", authUrl, [tokenPath]);
  check("baseUrl", baseUrl, paths);
}

function checkLists({ operations, forwardHeaders }: RawEnvironment, context: LoadContext): void {
  const star = operations.indexOf("*");
  if (star !== -1 && operations.length > 1) {
    const fix = 'write ["*"] alone, or name the operations';
    context.in("operations", star).report("* stands among other operations", fix);
  }
  for (const [header, at] of context.in("forwardHeaders").each(forwardHeaders)) {
    const isOurs = neverForwarded.has(header) || header.startsWith("countersign-");
    if (isOurs) at.report("this header is never let through", "remove it");
  }
}
