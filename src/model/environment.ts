import type { Secret } from "./secret.ts";

/** `oauth`: bearer token, spec 5.4. `hmac`: signature in the body, spec 5.2. */
export type AuthMethod = "oauth" | "hmac";

/** A checked http(s) URL, taken apart once so that nothing is ever resolved against it again. */
export interface Address {
  /** Scheme, host and port, e.g. `https://api.example:8443`. */
  readonly origin: string;
  readonly scheme: "http" | "https";
  /** Lower case; IPv6 in brackets. */
  readonly host: string;
  /** The scheme's default port where the URL names none. */
  readonly port: number;
  /** Empty, or segments with a leading and without a trailing slash, e.g. `/json-api`. */
  readonly path: string;
}

/** One key pair of a site (spec 5.3). */
export interface SigningKey {
  /** K…, unique in its environment. */
  readonly identifier: string;
  readonly version: string;
  readonly secret: Secret;
}

/** One OAuth credential set (spec 2.3). */
export interface CredentialSet {
  /** `<site>/<name>`: the label in logs, metrics and `/status`. */
  readonly label: string;
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly audience: string;
}

/** The sets configured at one site, first choice first; a child without its own uses its parent's. */
export interface Credentials {
  /** The S… identifier of the site they are configured at. */
  readonly owner: string;
  /** One or two. */
  readonly sets: readonly [CredentialSet, ...CredentialSet[]];
}

export interface Site {
  /** S…, unique in its environment. */
  readonly identifier: string;
  /** The S… of the parent site, for a child. */
  readonly parent: string | undefined;
  /** The API version of its calls, e.g. `3.0`. */
  readonly version: string;
  /** What it may use; the first is the default. */
  readonly auth: readonly [AuthMethod, ...AuthMethod[]];
  /** What HMAC sends as `site_identifier` when the caller named no key. */
  readonly identifyBy: "site" | "key";
  /** What happens to values that break spec 5.2 rule 3, with HMAC. */
  readonly characters: "reject" | "warn" | "off";
  /** Names that are never signed; always holds `signature`. */
  readonly exempt: ReadonlySet<string>;
  /** DECIMAL parameters beside `*_amount`. */
  readonly decimals: ReadonlySet<string>;
  readonly keys: readonly SigningKey[];
  readonly defaultKey: SigningKey | undefined;
  readonly credentials: Credentials | undefined;
}

/** Trust and identity towards the service and the authorization server; PEM texts. */
export interface Tls {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: Secret | undefined;
}

export interface Environment {
  readonly name: string;
  /** Where operations go. */
  readonly baseUrl: Address;
  /** Where token requests go: `{authUrl}/oauth/token`. Undefined only where no site has credentials. */
  readonly authUrl: Address | undefined;
  readonly operations: ReadonlySet<string> | "any";
  readonly defaultSite: string | undefined;
  /** By S… identifier, children included. */
  readonly sites: ReadonlyMap<string, Site>;
  /** Which site a K… belongs to. */
  readonly siteOfKey: ReadonlyMap<string, Site>;
  /** Statuses from 500 to 599 that may come from an intermediary: answers with them pass, their outcome is `unknown`. */
  readonly undecided: ReadonlySet<number>;
  /** Extra request headers to let through, in lower case. */
  readonly forwardHeaders: readonly string[];
  /** Whether requests upstream carry `Via` (RFC 9110 section 7.6.3). */
  readonly via: boolean;
  /** Whether `http://` was allowed for baseUrl and authUrl. */
  readonly allowsPlaintext?: boolean;
  readonly tls: Tls;
}

/**
 * The credential sets of each site that has its own, so that every set comes once. A child that uses its parent's has
 * none of its own.
 */
export function credentialSetsOf({ sites }: Environment): Credentials[] {
  return [...sites.values()].flatMap(({ identifier, credentials }) => {
    return credentials?.owner === identifier ? [credentials] : [];
  });
}
