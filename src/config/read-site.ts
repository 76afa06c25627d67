import type { AuthMethod, CredentialSet, Credentials, SigningKey, Site } from "../environment.ts";
import type { Findings } from "./findings.ts";
import type { Path } from "./problem.ts";
import type { SecretReader } from "./read-secrets.ts";
import type { RawChild, RawCredentials, RawKey } from "./site-schema.ts";
import { compareVersions } from "./values.ts";

const firstVersionWithOAuth = "3.0";
const alwaysSigned = ["version", "site_identifier", "timestamp"];
const defaultExempt = ["format", "signature", "call"];
const mostSets = 2;

/** Everything needed to read one site of the file. */
export interface SiteSource {
  readonly identifier: string;
  readonly raw: RawChild;
  readonly path: Path;
  readonly parent: Site | undefined;
}

/** Reads a site or a child, which inherits from its parent what it does not say itself. */
export async function readSite(source: SiteSource, secrets: SecretReader, findings: Findings): Promise<Site> {
  const { identifier, raw, path, parent } = source;
  const version = raw.version ?? parent?.version ?? firstVersionWithOAuth;
  const own =
    raw.credentials === undefined ? undefined : await readCredentials(source, raw.credentials, secrets, findings);
  const credentials = own ?? parent?.credentials;
  const keys = await readKeys(raw.keys ?? [], version, path, secrets, findings);
  const auth = chooseAuth(
    source,
    credentials !== undefined || raw.credentials !== undefined,
    keys.length > 0,
    findings,
  );
  checkVersion(auth, version, path, findings);
  const exempt = raw.exempt ?? parent?.exempt ?? defaultExempt;
  checkExempt(raw.exempt ?? [], path, findings);
  if (auth.includes("hmac")) {
    findings.warn(
      path,
      "new clients must use OAuth from 2026-08-01; existing ones may stay with HMAC",
      "move the site to OAuth",
    );
  }
  return {
    identifier,
    parent: parent?.identifier,
    version,
    auth,
    identifyBy: raw.identifyBy ?? parent?.identifyBy ?? "site",
    characters: raw.characters ?? parent?.characters ?? "reject",
    exempt: new Set([...exempt, "signature"]),
    decimals: new Set(raw.decimals ?? parent?.decimals ?? []),
    keys: keys.map(({ key }) => key),
    defaultKey: chooseDefaultKey(keys, path, findings),
    credentials,
  };
}

async function readCredentials(
  { identifier, path }: SiteSource,
  raw: readonly RawCredentials[],
  secrets: SecretReader,
  findings: Findings,
): Promise<Credentials | undefined> {
  if (raw.length > mostSets) {
    findings.refuse(
      [...path, "credentials"],
      "a site holds at most two credential sets",
      "remove the others",
      `${raw.length} sets`,
    );
  }
  for (const [index, { name }] of raw.entries()) {
    if (raw.findIndex((other) => other.name === name) < index) {
      findings.refuse([...path, "credentials", index, "name"], "two sets have this name", "give each its own");
    }
  }
  const read = await Promise.all(
    raw.map((set, index) => readSet(set, identifier, [...path, "credentials", index], secrets)),
  );
  const [first, ...rest] = read.filter((set) => set !== undefined);
  return first === undefined ? undefined : { owner: identifier, sets: [first, ...rest] };
}

async function readSet(
  raw: RawCredentials,
  site: string,
  path: Path,
  secrets: SecretReader,
): Promise<CredentialSet | undefined> {
  const { name } = raw;
  const isFolder = "dir" in raw;
  const [clientId, clientSecret, audience] = isFolder
    ? await Promise.all([
        secrets.text(`${raw.dir}/client-id`, [...path, "dir"], "client id"),
        secrets.secret({ file: `${raw.dir}/client-secret` }, [...path, "dir"]),
        secrets.text(`${raw.dir}/audience`, [...path, "dir"], "audience"),
      ])
    : [raw.clientId, await secrets.secret(raw.clientSecret, [...path, "clientSecret"]), raw.audience];
  if (clientId === undefined || clientSecret === undefined || audience === undefined) return undefined;
  return { label: `${site}/${name}`, name, clientId, clientSecret, audience };
}

interface ReadKey {
  readonly key: SigningKey;
  readonly isDefault: boolean;
}

async function readKeys(
  raw: readonly RawKey[],
  version: string,
  path: Path,
  secrets: SecretReader,
  findings: Findings,
): Promise<ReadKey[]> {
  const read = raw.map(async ({ identifier, secret: source, version: own = version, default: isDefault }, index) => {
    const at: Path = [...path, "keys", index];
    if (own !== version) {
      findings.refuse(
        [...at, "version"],
        `a key of version ${own} cannot sign calls of version ${version}`,
        "use a key of the site's version (spec 5.2 rule 6)",
      );
    }
    const secret = await secrets.secret(source, [...at, "secret"]);
    return secret === undefined ? undefined : { key: { identifier, version: own, secret }, isDefault };
  });
  return (await Promise.all(read)).filter((key) => key !== undefined);
}

function chooseDefaultKey(keys: readonly ReadKey[], path: Path, findings: Findings): SigningKey | undefined {
  const [only] = keys;
  if (only === undefined || keys.length === 1) return only?.key;
  const defaults = keys.filter(({ isDefault }) => isDefault);
  if (defaults.length === 1) return defaults[0]?.key;
  return findings.refuse(
    [...path, "keys"],
    "several keys need exactly one default",
    "write default: true at the site's default key pair (spec 5.3)",
    `${defaults.length} defaults`,
  );
}

function chooseAuth(
  source: SiteSource,
  hasCredentials: boolean,
  hasKeys: boolean,
  findings: Findings,
): readonly [AuthMethod, ...AuthMethod[]] {
  const { raw, path } = source;
  const isPossible = { oauth: hasCredentials, hmac: hasKeys || (raw.keys?.length ?? 0) > 0 };
  for (const [index, method] of (raw.auth ?? []).entries()) {
    const needs = method === "oauth" ? "credentials" : "keys";
    if (!isPossible[method])
      findings.refuse(
        [...path, "auth", index],
        `the site has no ${needs} for ${method}`,
        `add ${needs}, or remove ${method}`,
      );
  }
  const [first, ...rest] = raw.auth ?? [];
  if (first !== undefined) return [first, ...rest];
  if (isPossible.oauth) return ["oauth"];
  if (!isPossible.hmac)
    findings.refuse(path, "the site has neither credentials nor keys", "add credentials (OAuth) or keys (HMAC)");
  return ["hmac"];
}

function checkVersion(auth: readonly AuthMethod[], version: string, path: Path, findings: Findings): void {
  if (!auth.includes("oauth") || compareVersions(version, firstVersionWithOAuth) >= 0) return;
  findings.refuse(
    [...path, "version"],
    `OAuth is not available for version ${version}`,
    "use version 3.0 or later, or auth: [hmac] (spec 9)",
  );
}

function checkExempt(exempt: readonly string[], path: Path, findings: Findings): void {
  for (const [index, name] of exempt.entries()) {
    if (!alwaysSigned.includes(name)) continue;
    findings.refuse([...path, "exempt", index], `${name} must be signed`, "remove it from exempt (spec 5.2 step 2)");
  }
}
