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

/** `host:port`, the port always written. */
export function placeOf({ host, port }: Address): string {
  return `${host}:${port}`;
}

/** The host of an address for a socket, which takes IPv6 without brackets. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, "");
}

/** One key pair of a site (spec 5.3). */
export interface SigningKey {
  /** K…, unique in its environment. */
  readonly identifier: string;
  readonly version: string;
  readonly secret: Secret;
}

/** How a client proves itself to the authorization server. */
export type ClientAuth =
  /** Client id and secret in the body, as the service wants it (spec 4.2). */
  | { readonly method: "post" }
  /** Client id and secret by HTTP Basic (RFC 6749 section 2.3.1). */
  | { readonly method: "basic" }
  | AssertionAuth
  /** An assertion (RFC 7523 section 2.2) that the platform puts into a file and renews there; the path is absolute. */
  | { readonly method: "assertion"; readonly file: string }
  /** The environment's TLS client certificate (RFC 8705 section 2). */
  | { readonly method: "tls" };

/** An assertion that is signed with the client's key (RFC 7523 section 2.2). */
export interface AssertionAuth {
  readonly method: "private_key_jwt";
  /** PKCS #8 in PEM. */
  readonly privateKey: Secret;
  /** A JWS algorithm that the key can do, e.g. `ES256`. */
  readonly algorithm: string;
  /** What the server calls the key: `kid` in the assertion's header. */
  readonly keyId: string | undefined;
  /** Thumbprints of the key's certificate: `x5t` and `x5t#S256` (RFC 7515 sections 4.1.7 and 4.1.8). */
  readonly thumbprints: { readonly sha1: string; readonly sha256: string } | undefined;
  /** `aud` of the assertion. */
  readonly audience: string;
}

/** How the tokens of a credential set are asked for, where that is not the service's own way (spec 4.2). */
export interface TokenSettings {
  /** The token endpoint; undefined: `{authUrl}/oauth/token`. */
  readonly url: Address | undefined;
  readonly clientAuth: ClientAuth;
  readonly body: "form" | "json";
  readonly scope: string | undefined;
  /** RFC 8707. */
  readonly resource: string | undefined;
  /** Further fields of the token request. */
  readonly extra: Readonly<Record<string, string>>;
  /** How long a token lives whose response has no `expires_in`; undefined: 300 s. */
  readonly lifetimeMs: number | undefined;
  /**
   * The environment's client certificate, by its SHA-256 fingerprint: a server may bind tokens to it, however the client
   * proves itself (RFC 8705 section 3).
   */
  readonly certificate?: string | undefined;
}

/** One OAuth credential set (spec 2.3). */
export interface CredentialSet {
  /** `<site>/<name>`: the label in logs, metrics and `/status`. */
  readonly label: string;
  readonly name: string;
  readonly clientId: string;
  /** Undefined where a key or a certificate stands for it: `token.clientAuth`. */
  readonly clientSecret: Secret | undefined;
  /** Undefined only where `token.url` leads to an authorization server that wants none. */
  readonly audience: string | undefined;
  /** Absent where tokens are asked for in the service's own way (spec 4.2). */
  readonly token?: TokenSettings | undefined;
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
  /** What authenticates requests while no token can be had. Absent: they are refused. */
  readonly bridge?: "hmac";
  /** What HMAC sends as `site_identifier` when the caller named no key. */
  readonly identifyBy: "site" | "key";
  /** What happens to values that break spec 5.2 rule 3, with HMAC. */
  readonly characters: "reject" | "warn" | "off";
  /** Names that are never signed; always holds `signature`. */
  readonly exempt: ReadonlySet<string>;
  /** Whether signatures that callers make themselves are checked before they are dropped. */
  readonly checksCallerSignature?: boolean;
  /** DECIMAL parameters beside `*_amount`. */
  readonly decimals: ReadonlySet<string>;
  readonly keys: readonly SigningKey[];
  readonly defaultKey: SigningKey | undefined;
  /** Verify callbacks that name the site, beside its default key, until a moment by the wall clock. Absent: none. */
  readonly alsoVerifyWith?: readonly { readonly key: SigningKey; readonly untilMs: number }[];
  readonly credentials: Credentials | undefined;
}

/** A site's file that is not served as it is. */
export interface RefusedSiteFile {
  /** Its name in the folder. */
  readonly file: string;
  /** What is wrong, for people; no secret in it. */
  readonly problems: readonly string[];
  /** Whether what it held before stays in force. */
  readonly isServed: boolean;
}

/** Trust and identity towards the service and the authorization server; PEM texts. */
export interface Tls {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: Secret | undefined;
}

/** Lazy: a damaged certificate is found too, and does not parse. */
const certificate = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

/** The certificates in a PEM text; whether they parse is not known. */
export function splitCertificates(pem: string): readonly string[] {
  return pem.match(certificate) ?? [];
}

/** The forward proxy that an environment's hosts are reached through, by a tunnel for each connection. */
export interface Egress {
  /** The proxy's own; without a path. */
  readonly proxy: Address;
  /** Towards a proxy with https. */
  readonly tls: Tls;
  /** `user:password` for HTTP Basic; undefined where the proxy asks for nothing. */
  readonly credentials: Secret | undefined;
  /** What is reached without the proxy, as written. */
  readonly noProxy: readonly string[];
  /** Origins of the environment that are reached without it: those of `noProxy`, and loopback. */
  readonly direct: ReadonlySet<string>;
}

/** Paths whose requests pass with their bodies untouched, with a token attached (docs/pass-through.md). */
export interface PassThroughRoute {
  /** How their paths begin here, with a slash at both ends: `/files/`. */
  readonly prefix: string;
  /** What replaces the prefix at the baseUrl's host, with a slash at both ends. */
  readonly upstreamPrefix: string;
  readonly methods: ReadonlySet<string>;
  /** S… for requests that name no site; undefined: the environment's default. */
  readonly site: string | undefined;
  /** The protocol that a request may switch to. */
  readonly upgrade: "websocket" | undefined;
  /** How long a body, or a connection that has switched, may stand still. */
  readonly idleMs: number;
}

export interface Environment {
  readonly name: string;
  /** Where operations go. */
  readonly baseUrl: Address;
  /** Token requests go to `{authUrl}/oauth/token`. Undefined where no site has credentials, or all sets have `token.url`. */
  readonly authUrl: Address | undefined;
  readonly operations: ReadonlySet<string> | "any";
  /** Longest prefix first; absent where there are none. */
  readonly passThrough?: readonly PassThroughRoute[] | undefined;
  /** For requests that name no site: the configured default, else the only site. */
  readonly defaultSite: string | undefined;
  /** By S… identifier, children included. */
  readonly sites: ReadonlyMap<string, Site>;
  /** Absent where the sites are named in the configuration. */
  readonly siteFolder?: { readonly path: string; readonly refused: readonly RefusedSiteFile[] } | undefined;
  /** Which site a K… belongs to. */
  readonly siteOfKey: ReadonlyMap<string, Site>;
  /** Statuses that tell nothing of the effect: answers with them pass, and their outcome is `unknown`. */
  readonly undecided: ReadonlySet<number> | "5xx";
  /** Extra request headers to let through, in lower case. */
  readonly forwardHeaders: readonly string[];
  /** Whether requests upstream carry `Via` (RFC 9110 section 7.6.3). */
  readonly via: boolean;
  /** Whether `http://` was allowed for baseUrl and authUrl. */
  readonly allowsPlaintext?: boolean;
  readonly tls: Tls;
  /** How many requests one connection to the service, or to the authorization server, carries at most; absent where there is no limit. */
  readonly requestsPerConnection?: number | undefined;
  /** Absent where every host is reached directly. */
  readonly egress?: Egress | undefined;
}

/** Whether an answer with this status leaves open what the request has done. */
export function isUndecided(status: number, { undecided }: Pick<Environment, "undecided">): boolean {
  return undecided === "5xx" ? status >= 500 : undecided.has(status);
}

/** What leads to a host of the environment; undefined where it is reached directly. */
export function egressTo({ egress }: Environment, { origin }: Address): Egress | undefined {
  return egress?.direct.has(origin) ? undefined : egress;
}

/** The credential sets of an environment, each once, where it is configured; first choices have index 0. */
export function credentialSetsOf({ sites }: Environment): { readonly set: CredentialSet; readonly index: number }[] {
  const all: { readonly set: CredentialSet; readonly index: number }[] = [];
  for (const { identifier, credentials } of sites.values()) {
    if (credentials?.owner !== identifier) continue;
    for (const [index, set] of credentials.sets.entries()) all.push({ set, index });
  }
  return all;
}

/** Where the service's own authorization server has its token endpoint (spec 4.2). */
export const tokenPath = "/oauth/token";

/**
 * The settings that make a token another token, as names and values; none where they are the service's own. The token
 * endpoint and the audience are not among them, nor is what only the way to a token depends on.
 */
export function identityOf(token: TokenSettings | undefined): string[] {
  if (token === undefined) return [];
  const { clientAuth, scope, resource, extra, certificate } = token;
  const { method } = clientAuth;
  const settings: [name: string, value: string | undefined][] = [
    ["clientAuth", method === "post" ? undefined : method],
    // What stands in the file is renewed, and stays the same client's.
    ["assertion", method === "assertion" ? clientAuth.file : undefined],
    ["certificate", certificate],
    ["scope", scope],
    ["resource", resource],
    ...Object.entries(extra)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]): [string, string] => [`extra ${name}`, value]),
  ];
  return settings.flatMap(([name, value]) => (value === undefined ? [] : [name, value]));
}

/** Where a set's token requests go (spec 4.2). The configuration is refused where that is nowhere. */
export function tokenUrlOf({ authUrl }: Environment, { token }: CredentialSet): Address {
  if (token?.url !== undefined) return token.url;
  if (authUrl === undefined) throw new Error("an environment with credentials says where tokens come from");
  return { ...authUrl, path: `${authUrl.path}${tokenPath}` };
}
