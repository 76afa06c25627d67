import type { Secret } from "./secret.ts";

/**
 * A caller that a listener knows by name, and what it may do there. All its requests together are one caller's, at every
 * listener of the environment that has the name.
 */
export interface Caller {
  /** Stands in logs, metrics and `/status`. */
  readonly name: string;
  /** Each of these proves it (RFC 9110 section 11.7); several while one replaces another. None where certificates do. */
  readonly tokens: readonly Secret[];
  /** Each of these names in a client certificate proves it, as in `certificateNames`. None where tokens do. */
  readonly certificates: readonly string[];
  /** S… of the sites that it may use. */
  readonly sites: ReadonlySet<string> | "any";
  readonly operations: ReadonlySet<string> | "any";
  /** How many requests it may make at each replica; undefined: no limit of its own. */
  readonly requestsPerSecond: number | undefined;
}

/** One name of the extension, as Node.js writes it: a value that could be mistaken for several is a JSON string. */
const alternativeName = /(?:^|, )([A-Za-z0-9 ]+):("(?:[^"\\]|\\.)*"|[^",]*)/y;

/**
 * The names by which a certificate can be known, each with its kind: `URI:spiffe://…` as it stands, `DNS:…` in lower
 * case. Others, the subject's common name above all, name no caller (RFC 6125 section 6.4.4, RFC 9525 section 2).
 * @param subjectAltName as X509Certificate has it
 * @returns none where the text cannot be read to its end
 */
export function certificateNames(subjectAltName: string | undefined): readonly string[] {
  if (subjectAltName === undefined) return [];
  const names: string[] = [];
  alternativeName.lastIndex = 0;
  while (alternativeName.lastIndex < subjectAltName.length) {
    const [, kind = "", value = ""] = alternativeName.exec(subjectAltName) ?? [];
    if (kind === "") return [];
    const isPlain = !value.startsWith('"');
    // A name that has to be quoted is none that a configuration could have.
    if (isPlain && kind === "URI") names.push(`URI:${value}`);
    if (isPlain && kind === "DNS") names.push(`DNS:${value.toLowerCase()}`);
  }
  return names;
}

export const callerSignatureResults = ["valid", "invalid", "unknown_key", "incomplete", "missing"] as const;
/**
 * What is found of the signature that a caller makes itself, from its days with HMAC. `valid`: it is that of the key
 * that the service would check it with, over what the caller sent (spec 5.2, 5.3). `invalid`: it is not the key's.
 * `unknown_key`: no such key of that version is configured at the site. `incomplete`: version, site_identifier or
 * timestamp is missing. `missing`: there is no signature.
 */
export type CallerSignatureResult = (typeof callerSignatureResults)[number];
