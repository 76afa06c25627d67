import type { AuthMethod, Site } from "../model/environment.ts";
import { defaultExempt, exemptNames, requiredNames } from "../signing/parameter-rules.ts";
import type { Findings } from "./diagnostics.ts";
import type { Reading } from "./load-context.ts";
import type { Path } from "./problem.ts";
import { readCredentials } from "./read-credentials.ts";
import { readKeys, type SiteVersion } from "./read-keys.ts";
import type { RawChild } from "./site-schema.ts";
import { compareVersions } from "./values.ts";

/** Where neither the site nor its parent names one. */
const usualVersion = "3.0";
/** OAuth is not available for 1.8 and 2.0 (spec 9). */
const firstVersionWithOAuth = "3.0";
const alwaysSigned: ReadonlySet<string> = new Set(requiredNames);

/** Everything needed to read one site of the file. */
export interface SiteSource {
  readonly identifier: string;
  readonly raw: RawChild;
  readonly path: Path;
  /** For a child. */
  readonly parent?: { readonly site: Site; readonly raw: RawChild; readonly path: Path };
}

/** Reads a site or a child, which inherits from its parent what it does not say itself, but for `auth` and keys. */
export async function readSite(source: SiteSource, reading: Reading): Promise<Site> {
  const { identifier, raw, path } = source;
  const parent = source.parent?.site;
  const version = {
    text: raw.version ?? parent?.version ?? usualVersion,
    from: placesOf("version", source),
  };
  const { keys, defaultKey } = await readKeys(raw.keys ?? [], version, [...path, "keys"], reading);
  const credentials =
    raw.credentials === undefined
      ? parent?.credentials
      : await readCredentials(identifier, raw.credentials, [...path, "credentials"], reading);
  const auth = chooseAuth(source, reading.findings);
  checkVersion(source, auth, version, reading.findings);
  checkExempt(raw.exempt ?? [], [...path, "exempt"], reading.findings);
  if (auth.includes("hmac")) {
    const message = "new clients must use OAuth from 2026-08-01; existing ones may stay with HMAC (spec 5.1)";
    reading.findings.warn("hmac_for_existing_clients", path, message, "move the site to OAuth");
  }
  return {
    identifier,
    parent: parent?.identifier,
    version: version.text,
    auth,
    identifyBy: raw.identifyBy ?? parent?.identifyBy ?? "site",
    characters: raw.characters ?? parent?.characters ?? "reject",
    exempt: exemptNames(raw.exempt ?? parent?.exempt ?? defaultExempt),
    decimals: new Set(raw.decimals ?? parent?.decimals ?? []),
    keys,
    defaultKey,
    credentials,
  };
}

/** Where an inheritable setting may be written. */
function placesOf(setting: keyof RawChild, { path, parent }: SiteSource): Path[] {
  return parent === undefined
    ? [[...path, setting]]
    : [
        [...path, setting],
        [...parent.path, setting],
      ];
}

/** As written, each method with its means; else oauth where there are credentials, else hmac. */
function chooseAuth(source: SiteSource, findings: Findings): readonly [AuthMethod, ...AuthMethod[]] {
  const { raw, path, parent } = source;
  const places = { oauth: placesOf("credentials", source), hmac: [[...path, "keys"]] };
  // What is written counts, also where its files cannot be read: that is reported already.
  const hasMeans = { oauth: (raw.credentials ?? parent?.raw.credentials) !== undefined, hmac: raw.keys !== undefined };
  const [first, ...rest] = raw.auth ?? [];
  if (first === undefined) {
    if (!hasMeans.oauth && !hasMeans.hmac) {
      const from = [...places.oauth, ...places.hmac];
      const fix = "add credentials (OAuth) or keys (HMAC)";
      findings.conclude(from, path, "the site has neither credentials nor keys", fix);
    }
    return hasMeans.oauth ? ["oauth"] : ["hmac"];
  }
  for (const [index, method] of [first, ...rest].entries()) {
    const at: Path = [...path, "auth", index];
    const means = method === "oauth" ? "credentials" : "keys";
    if (!hasMeans[method]) {
      findings.conclude(
        places[method],
        at,
        `the site has no ${means} for ${method}`,
        `add ${means}, or remove ${method}`,
      );
    }
    if (raw.auth?.indexOf(method) !== index) findings.refuse(at, `${method} is named twice`, "remove one");
  }
  return [first, ...rest];
}

function checkVersion(
  { raw, path, parent }: SiteSource,
  auth: readonly AuthMethod[],
  { text, from }: SiteVersion,
  findings: Findings,
): void {
  if (!auth.includes("oauth") || compareVersions(text, firstVersionWithOAuth) >= 0) return;
  const holder = raw.version === undefined && parent !== undefined ? parent.path : path;
  const message = `OAuth is not available for version ${text}`;
  const fix = "use version 3.0 or later, or auth: [hmac] (spec 9)";
  findings.conclude([...from, [...path, "auth"]], [...holder, "version"], message, fix);
}

function checkExempt(exempt: readonly string[], path: Path, findings: Findings): void {
  for (const [index, name] of exempt.entries()) {
    if (!alwaysSigned.has(name)) continue;
    findings.refuse([...path, index], `${name} must be signed`, "remove it from exempt (spec 5.2 step 2)");
  }
}
