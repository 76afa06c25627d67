import type { SigningKey } from "../model/environment.ts";
import type { Reading } from "./load-context.ts";
import type { Path } from "./problem.ts";
import type { RawKey } from "./site-schema.ts";

export interface Keys {
  readonly keys: readonly SigningKey[];
  readonly defaultKey: SigningKey | undefined;
}

/** The API version of a site's calls. */
export interface SiteVersion {
  readonly text: string;
  /** Where it may be written: at the site, or at its parent. */
  readonly from: readonly Path[];
}

/** Reads the HMAC key pairs of a site. */
export async function readKeys(
  raw: readonly RawKey[],
  version: SiteVersion,
  path: Path,
  reading: Reading,
): Promise<Keys> {
  const { findings, secrets, claims } = reading;
  const isSole = raw.length === 1;
  const defaults = raw.filter((key) => key.default).length;
  if (raw.length > 1 && defaults !== 1) {
    const fix = "write default: true at the site's default key pair (spec 5.3)";
    const from = raw.map((_, index) => [...path, index, "default"]);
    findings.conclude(from, path, "several keys need exactly one default", fix, `${defaults} defaults`);
  }
  const keys: SigningKey[] = [];
  let defaultKey: SigningKey | undefined;
  for (const [index, given] of raw.entries()) {
    const at: Path = [...path, index];
    const { identifier, version: own = version.text } = given;
    claims.push({ kind: "key identifier", value: identifier, path: [...at, "identifier"] });
    if (own !== version.text) {
      const message = `a key of version ${own} cannot sign calls of version ${version.text}`;
      const fix = "use a key of the site's version (spec 5.2 rule 6)";
      findings.conclude(version.from, [...at, "version"], message, fix);
    }
    const secret = await secrets.secret(given.secret, [...at, "secret"]);
    if (secret === undefined) continue;
    claims.push({ kind: "secret", value: secret, path: [...at, "secret"] });
    const key = { identifier, version: own, secret };
    keys.push(key);
    if (given.default || isSole) defaultKey = key;
  }
  return { keys, defaultKey };
}
