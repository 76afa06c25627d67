import { hopByHop } from "../http/headers.ts";
import type { Environment, Site } from "../model/environment.ts";
import type { Findings } from "./diagnostics.ts";
import type { RawEnvironment } from "./environment-schema.ts";
import type { Reading } from "./load-context.ts";
import type { Path } from "./problem.ts";
import { readSite } from "./read-site.ts";
import { readTlsFiles } from "./read-tls.ts";
import { shareLabels } from "./share-labels.ts";

/** Request headers that are ours or the login's to set, or that belong to one connection. */
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

const tokenPath = "/oauth/token";

/** Reads one environment of the file. */
export async function readEnvironment(name: string, raw: RawEnvironment, reading: Reading): Promise<Environment> {
  const path: Path = ["environments", name];
  const { findings } = reading;
  checkAddresses(raw, path, reading);
  checkNeedOfAuthUrl(raw, path, findings);
  checkPaths(raw, path, findings);
  checkOperations(raw.operations, [...path, "operations"], findings);
  checkForwardHeaders(raw.forwardHeaders, [...path, "forwardHeaders"], findings);
  const sites = shareLabels(await readSites(raw, [...path, "sites"], reading));
  checkDefaultSite(raw, path, sites, findings);
  return {
    name,
    baseUrl: raw.baseUrl,
    authUrl: raw.authUrl,
    operations: raw.operations.includes("*") ? "any" : new Set(raw.operations),
    defaultSite: raw.defaultSite,
    sites,
    siteOfKey: new Map([...sites.values()].flatMap((site) => site.keys.map((key) => [key.identifier, site]))),
    undecided: new Set(raw.undecided),
    forwardHeaders: raw.forwardHeaders.map((header) => header.toLowerCase()),
    via: raw.via,
    allowsPlaintext: raw.allowPlaintext,
    tls: await readTlsFiles(raw.tls, [...path, "tls"], reading),
  };
}

async function readSites(raw: RawEnvironment, path: Path, reading: Reading): Promise<Map<string, Site>> {
  const sites = new Map<string, Site>();
  const add = (site: Site, at: Path) => {
    if (sites.has(site.identifier)) {
      reading.findings.refuse(at, "this site is configured twice", "keep one of them", site.identifier);
    }
    sites.set(site.identifier, site);
  };
  if (Object.keys(raw.sites).length === 0) reading.findings.conclude([path], path, "there is no site", "add one");
  for (const [identifier, { children, ...own }] of Object.entries(raw.sites)) {
    const at: Path = [...path, identifier];
    const site = await readSite({ identifier, raw: own, path: at }, reading);
    add(site, at);
    for (const [childIdentifier, child] of Object.entries(children)) {
      const childAt: Path = [...at, "children", childIdentifier];
      const parent = { site, raw: own, path: at };
      add(await readSite({ identifier: childIdentifier, raw: child, path: childAt, parent }, reading), childAt);
    }
  }
  return sites;
}

function checkDefaultSite(
  { defaultSite, sites: raw }: RawEnvironment,
  path: Path,
  sites: ReadonlyMap<string, Site>,
  findings: Findings,
): void {
  if (defaultSite === undefined || sites.has(defaultSite)) return;
  const inSites: Path = [...path, "sites"];
  const from = [[...inSites, defaultSite], ...Object.keys(raw).map((site) => [...inSites, site, "children"])];
  const fix = `name one of: ${[...sites.keys()].join(", ")}`;
  findings.conclude(from, [...path, "defaultSite"], "there is no such site", fix);
}

function checkNeedOfAuthUrl({ authUrl, sites }: RawEnvironment, path: Path, findings: Findings): void {
  if (authUrl !== undefined) return;
  const all = Object.entries(sites).flatMap(([identifier, site]) => [
    { identifier, credentials: site.credentials },
    ...Object.entries(site.children).map(([child, { credentials }]) => ({ identifier: child, credentials })),
  ]);
  const [owner] = all.filter(({ credentials }) => credentials !== undefined);
  if (owner === undefined) return;
  const at: Path = [...path, "authUrl"];
  const fix = 'add the address of the authorization server, like "https://login.example"; HMAC alone needs none';
  findings.conclude([at], at, `authUrl is missing: site ${owner.identifier} has credentials`, fix);
}

function checkAddresses(raw: RawEnvironment, path: Path, { findings, claims }: Reading): void {
  if (raw.baseUrl.origin === raw.authUrl?.origin) {
    const fix = "give the authorization server; it is another host than the JSON API (spec 4.2)";
    const message = "baseUrl and authUrl have the same origin";
    findings.conclude([[...path, "baseUrl"]], [...path, "authUrl"], message, fix);
  }
  for (const name of ["baseUrl", "authUrl"] as const) {
    const address = raw[name];
    if (address === undefined) continue;
    const { origin, scheme } = address;
    claims.push({ kind: "origin", value: origin, path: [...path, name] });
    if (scheme === "https" || raw.allowPlaintext) continue;
    const fix = "use https://, or allowPlaintext: true for tests";
    const message = "http:// would send credentials in plain text";
    findings.conclude([[...path, "allowPlaintext"]], [...path, name], message, fix);
  }
}

/** Both are added behind these addresses. A token path there twice leads nowhere; an operation's name may be the service's own. */
function checkPaths({ baseUrl, authUrl, operations }: RawEnvironment, path: Path, findings: Findings): void {
  if (authUrl?.path.endsWith(tokenPath)) {
    const fix = `write ${authUrl.origin}${authUrl.path.slice(0, -tokenPath.length)}`;
    const message = `authUrl ends with ${tokenPath}, which Countersign adds itself (spec 4.2)`;
    findings.refuse([...path, "authUrl"], message, fix);
  }
  const operation = operations.find((name) => baseUrl.path.endsWith(`/${name}`));
  if (operation === undefined) return;
  const fix = `write ${baseUrl.origin}${baseUrl.path.slice(0, -operation.length - 1)}, unless the service has it twice`;
  const message = `baseUrl ends with the operation ${operation}, which is called below it`;
  findings.warn("base_url_ends_in_operation", [...path, "baseUrl"], message, fix);
}

function checkOperations(operations: readonly string[], path: Path, findings: Findings): void {
  const star = operations.indexOf("*");
  if (star === -1 || operations.length === 1) return;
  findings.refuse([...path, star], "* stands among other operations", 'write ["*"] alone, or name the operations');
}

function checkForwardHeaders(headers: readonly string[], path: Path, findings: Findings): void {
  for (const [index, header] of headers.entries()) {
    const name = header.toLowerCase();
    if (!neverForwarded.has(name) && !name.startsWith("countersign-")) continue;
    findings.refuse([...path, index], "this header is never let through", "remove it");
  }
}
