import type { Address, Environment, Site, Tls } from "../environment.ts";
import type { Findings } from "./findings.ts";
import type { Path } from "./problem.ts";
import type { SecretReader } from "./read-secrets.ts";
import { readSite } from "./read-site.ts";
import type { RawEnvironment } from "./schema.ts";

/** Request headers that a caller must never decide, or that belong to one connection. */
const neverForwarded = new Set([
  "accept",
  "accept-encoding",
  "authorization",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "cookie",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
]);
const siteIdentifier = /^S[A-Za-z0-9_-]{1,63}$/;

/** Reads one environment of the file. */
export async function readEnvironment(
  name: string,
  raw: RawEnvironment,
  secrets: SecretReader,
  findings: Findings,
): Promise<Environment> {
  const path: Path = ["environments", name];
  checkAddresses(raw, path, findings);
  checkOperations(raw.operations, path, findings);
  checkForwardHeaders(raw.forwardHeaders, path, findings);
  const sites = await readSites(raw, path, secrets, findings);
  if (raw.defaultSite !== undefined && !sites.has(raw.defaultSite)) {
    findings.refuse([...path, "defaultSite"], "this site is not in sites", "name one of the environment's sites");
  }
  return {
    name,
    baseUrl: raw.baseUrl,
    authUrl: raw.authUrl,
    operations: raw.operations.includes("*") ? "any" : new Set(raw.operations),
    defaultSite: raw.defaultSite,
    sites,
    siteOfKey: indexKeys(sites, path, findings),
    forwardHeaders: raw.forwardHeaders.map((header) => header.toLowerCase()),
    via: raw.via,
    tls: await readTls(raw.tls, path, secrets, findings),
  };
}

async function readSites(
  raw: RawEnvironment,
  path: Path,
  secrets: SecretReader,
  findings: Findings,
): Promise<Map<string, Site>> {
  const sites = new Map<string, Site>();
  const add = (site: Site, at: Path) => {
    if (!siteIdentifier.test(site.identifier)) {
      findings.refuse(
        at,
        "this is not a Site Identifier",
        "write S and 1 to 63 of A-Z a-z 0-9 _ - (spec 5.3)",
        site.identifier,
      );
    }
    if (sites.has(site.identifier))
      findings.refuse(at, "this site is configured twice", "keep one of them", site.identifier);
    sites.set(site.identifier, site);
  };
  if (Object.keys(raw.sites).length === 0) findings.refuse([...path, "sites"], "there is no site", "add one");
  for (const [identifier, { children, ...own }] of Object.entries(raw.sites)) {
    const at: Path = [...path, "sites", identifier];
    const parent = await readSite({ identifier, raw: own, path: at, parent: undefined }, secrets, findings);
    add(parent, at);
    for (const [childIdentifier, child] of Object.entries(children)) {
      const childAt: Path = [...at, "children", childIdentifier];
      add(
        await readSite({ identifier: childIdentifier, raw: child, path: childAt, parent }, secrets, findings),
        childAt,
      );
    }
  }
  return sites;
}

function indexKeys(sites: ReadonlyMap<string, Site>, path: Path, findings: Findings): Map<string, Site> {
  const siteOfKey = new Map<string, Site>();
  for (const site of sites.values()) {
    for (const { identifier } of site.keys) {
      if (siteOfKey.has(identifier)) {
        findings.refuse(
          [...path, "sites"],
          "a key identifier is configured twice",
          "a Key Identifier is unique per key pair (spec 5.3)",
          identifier,
        );
      }
      siteOfKey.set(identifier, site);
    }
  }
  return siteOfKey;
}

function checkAddresses({ baseUrl, authUrl, allowPlaintext }: RawEnvironment, path: Path, findings: Findings): void {
  if (baseUrl.origin === authUrl.origin) {
    findings.refuse(
      [...path, "authUrl"],
      "baseUrl and authUrl have the same origin",
      "the login host is another host than the JSON API (spec 4.2)",
    );
  }
  const check = (name: "baseUrl" | "authUrl", { scheme }: Address) => {
    if (scheme === "https" || allowPlaintext) return;
    findings.refuse(
      [...path, name],
      "http:// would send credentials in plain text",
      "use https://, or allowPlaintext: true for tests",
    );
  };
  check("baseUrl", baseUrl);
  check("authUrl", authUrl);
}

function checkOperations(operations: readonly string[], path: Path, findings: Findings): void {
  if (!operations.includes("*") || operations.length === 1) return;
  findings.refuse(
    [...path, "operations"],
    '"*" stands among other operations',
    'write ["*"] alone, or name the operations',
  );
}

function checkForwardHeaders(headers: readonly string[], path: Path, findings: Findings): void {
  for (const [index, header] of headers.entries()) {
    const name = header.toLowerCase();
    if (!neverForwarded.has(name) && !name.startsWith("countersign-")) continue;
    findings.refuse([...path, "forwardHeaders", index], "this header is never let through", "remove it");
  }
}

async function readTls(
  raw: RawEnvironment["tls"],
  path: Path,
  secrets: SecretReader,
  findings: Findings,
): Promise<Tls> {
  const { caFile, certFile, keyFile } = raw;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    findings.refuse([...path, "tls"], "a client certificate needs both certFile and keyFile", "add the other one");
  }
  const [ca, cert, key] = await Promise.all([
    caFile === undefined ? undefined : secrets.certificates(caFile, [...path, "tls", "caFile"]),
    certFile === undefined ? undefined : secrets.certificates(certFile, [...path, "tls", "certFile"]),
    keyFile === undefined ? undefined : secrets.privateKey(keyFile, [...path, "tls", "keyFile"]),
  ]);
  return { ca, cert, key };
}
