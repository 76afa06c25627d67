import type { Secret } from "./secret.ts";

export const authMethods = ["oauth", "hmac"] as const;
/** `oauth`: bearer token, spec 5.4. `hmac`: signature in the body, spec 5.2. */
export type AuthMethod = (typeof authMethods)[number];

/** A checked http(s) URL, split into its parts once, so that nothing is ever resolved against it again. */
export interface Address {
  /** Scheme, host and port, e.g. `https://api.example:8443`. */
  readonly origin: string;
  readonly scheme: "http" | "https";
  /** Lower case; IPv6 in brackets. */
  readonly host: string;
  /** The scheme's default port if the URL names none. */
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

/** How a client authenticates to the authorization server. */
export type ClientAuth =
  /** Client id and secret in the body, as the service demands (spec 4.2). */
  | { readonly method: "post" }
  /**
   * Client id and secret by HTTP Basic: form-encoded (RFC 6749 section 2.3.1), or for `basic_raw` as they are (RFC 7617), as some
   * authorization servers read them.
   */
  | { readonly method: "basic" | "basic_raw" }
  | AssertionAuth
  /** An assertion (RFC 7523 section 2.2) that the platform puts into a file and renews there; the path is absolute. */
  | { readonly method: "assertion"; readonly file: string; readonly type: "jwt-bearer" | "jwt-spiffe" }
  /** The environment's TLS client certificate (RFC 8705 section 2). */
  | { readonly method: "tls" };

/** An assertion that is signed with the client's key (RFC 7523 section 2.2). */
export interface AssertionAuth {
  readonly method: "private_key_jwt";
  /** PKCS #8 in PEM. */
  readonly privateKey: Secret;
  /** A JWS algorithm that the key supports, e.g. `ES256`. */
  readonly algorithm: string;
  /** The server's name for the key: `kid` in the assertion's header. */
  readonly keyId: string | undefined;
  /** Thumbprints of the key's certificate: `x5t` and `x5t#S256` (RFC 7515 sections 4.1.7 and 4.1.8). */
  readonly thumbprints: { readonly sha1: string; readonly sha256: string } | undefined;
  /** `typ` in the assertion's header. */
  readonly type: string;
  /** `aud` of the assertion. */
  readonly audience: string;
}

/** How the tokens of a credential set are requested, if not in the service's own way (spec 4.2). */
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
  /** The lifetime of a token whose response has no `expires_in`; undefined: 300 s. */
  readonly lifetimeMs: number | undefined;
  /**
   * The SHA-256 fingerprint of the environment's client certificate: a server may bind tokens to it, whichever `clientAuth`
   * is used (RFC 8705 section 3).
   */
  readonly certificate?: string | undefined;
}

/** One OAuth credential set (spec 2.3). */
export interface CredentialSet {
  /** `<site>/<name>`: the label in logs, metrics and `/status`. */
  readonly label: string;
  readonly name: string;
  readonly clientId: string;
  /** Undefined if the client authenticates without a secret: `token.clientAuth`. */
  readonly clientSecret: Secret | undefined;
  /** Undefined only if `token.url` leads to an authorization server that demands none. */
  readonly audience: string | undefined;
  /** Absent if tokens are requested in the service's own way (spec 4.2). */
  readonly token?: TokenSettings | undefined;
}

/** The credential sets of one site, first choice first; a child site without sets uses its parent's. */
export interface Credentials {
  /** S… of the site at which the sets are configured. */
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
  /** Allowed methods; the first is the default. */
  readonly auth: readonly [AuthMethod, ...AuthMethod[]];
  /** Authenticates requests when no token is available. Absent: such requests are refused. */
  readonly bridge?: "hmac";
  /** Whose identifier HMAC sends as `site_identifier` if the caller named no key. */
  readonly identifyBy: "site" | "key";
  /** How values that break spec 5.2 rule 3 are treated, with HMAC. */
  readonly characters: "reject" | "warn" | "off";
  /** Names of parameters that are never signed; always holds `signature`. */
  readonly exempt: ReadonlySet<string>;
  /** Whether signatures that callers make themselves are checked before they are dropped. */
  readonly checksCallerSignature?: boolean;
  /** DECIMAL parameters in addition to `*_amount`. */
  readonly decimals: ReadonlySet<string>;
  readonly keys: readonly SigningKey[];
  readonly defaultKey: SigningKey | undefined;
  /** Keys that also verify callbacks of the site, in addition to its default key, until a moment by the wall clock. Absent: none. */
  readonly alsoVerifyWith?: readonly { readonly key: SigningKey; readonly untilMs: number }[];
  readonly credentials: Credentials | undefined;
}

/** Something wrong in a file of the configuration. It never holds a secret. */
export interface FileProblem {
  /** Such as `environments.sandbox.sites.S1.credentials[0].audience`; empty for the file itself. */
  readonly path: string;
  /** In the YAML file, counted from 1; 0: the file itself cannot be read. */
  readonly line: number;
  readonly column: number;
  /** What is wrong, as a clause. */
  readonly message: string;
  /** The value in the file, if it may be shown. */
  readonly found: string | undefined;
  /** What to do about it. */
  readonly fix: string;
}

/** A site's file whose present content is refused. */
export interface RefusedSiteFile {
  /** Its name in the folder. */
  readonly file: string;
  /** Hold no secret. */
  readonly problems: readonly FileProblem[];
  /** Whether its former content stays active. */
  readonly isServed: boolean;
}

/** Trust and identity towards the service and the authorization server; PEM texts. */
export interface Tls {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: Secret | undefined;
}

/** A lazy match also finds a damaged certificate, which does not parse. */
const certificate = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

/** The certificates in a PEM text; they are not parsed. */
export function splitCertificates(pem: string): readonly string[] {
  return pem.match(certificate) ?? [];
}

/** The forward proxy to an environment's hosts, with a tunnel for each connection. */
export interface Egress {
  /** The proxy's address; without a path. */
  readonly proxy: Address;
  /** For a proxy with https. */
  readonly tls: Tls;
  /** `user:password` for HTTP Basic; undefined if the proxy demands none. */
  readonly credentials: Secret | undefined;
  /** Hosts that are reached without the proxy, as written. */
  readonly noProxy: readonly string[];
  /** Origins of the environment that are reached without the proxy: those of `noProxy`, and loopback. */
  readonly direct: ReadonlySet<string>;
}

/** Paths whose requests pass with their bodies untouched, with a token attached (docs/pass-through.md). */
export interface PassThroughRoute {
  /** The start of their paths here, with a slash at both ends: `/files/`. */
  readonly prefix: string;
  /** Replaces the prefix at the baseUrl's host; with a slash at both ends. */
  readonly upstreamPrefix: string;
  readonly methods: ReadonlySet<string>;
  /** S… for requests that name no site; undefined: the environment's default. */
  readonly site: string | undefined;
  /** The protocol that a request may switch to. */
  readonly upgrade: "websocket" | undefined;
  /** How long a body, or a connection that has switched, may be idle. */
  readonly idleMs: number;
}

export interface Environment {
  readonly name: string;
  /** The service's address, for operations. */
  readonly baseUrl: Address;
  /** Token requests go to `{authUrl}/oauth/token`. Undefined if no site has credentials, or all sets have `token.url`. */
  readonly authUrl: Address | undefined;
  readonly operations: ReadonlySet<string> | "any";
  /** Longest prefix first; absent if there are none. */
  readonly passThrough?: readonly PassThroughRoute[] | undefined;
  /** For requests that name no site: the configured default, else the only site. */
  readonly defaultSite: string | undefined;
  /** By S… identifier, children included. */
  readonly sites: ReadonlyMap<string, Site>;
  /** Absent if the configuration itself names the sites. */
  readonly siteFolder?: { readonly path: string; readonly refused: readonly RefusedSiteFile[] } | undefined;
  /** The site of each K…. */
  readonly siteOfKey: ReadonlyMap<string, Site>;
  /** Statuses that do not show whether the request had an effect: answers with them pass, and their outcome is `unknown`. */
  readonly undecided: ReadonlySet<number> | "5xx";
  /** Extra request headers to let through, in lower case. */
  readonly forwardHeaders: readonly string[];
  /** Whether requests upstream carry `Via` (RFC 9110 section 7.6.3). */
  readonly via: boolean;
  /** Whether `http://` was allowed for baseUrl and authUrl. */
  readonly allowsPlaintext?: boolean;
  readonly tls: Tls;
  /** How many requests one connection to the service carries at most; absent if there is no limit. */
  readonly requestsPerConnection?: number | undefined;
  /** Absent if every host is reached directly. */
  readonly egress?: Egress | undefined;
}

/** Whether an answer with this status leaves open whether the request had an effect. */
export function isUndecided(status: number, { undecided }: Pick<Environment, "undecided">): boolean {
  return undecided === "5xx" ? status >= 500 : undecided.has(status);
}

/** The forward proxy to a host of the environment; undefined if the host is reached directly. */
export function egressTo({ egress }: Environment, { origin }: Address): Egress | undefined {
  return egress?.direct.has(origin) ? undefined : egress;
}

/** The credential sets of an environment, each once, from the site that configures it; first choices have index 0. */
export function credentialSetsOf({ sites }: Environment): { readonly set: CredentialSet; readonly index: number }[] {
  const all: { readonly set: CredentialSet; readonly index: number }[] = [];
  for (const { identifier, credentials } of sites.values()) {
    if (credentials?.owner !== identifier) continue;
    for (const [index, set] of credentials.sets.entries()) all.push({ set, index });
  }
  return all;
}

/** The path of the token endpoint at the service's own authorization server (spec 4.2). */
export const tokenPath = "/oauth/token";

/**
 * The settings that distinguish one token from another, as names and values; empty if all are the service's own. Left out are
 * the token endpoint, the audience, and settings such as `body` that only change how a token is requested.
 */
export function identityOf(token: TokenSettings | undefined): string[] {
  if (token === undefined) return [];
  const { clientAuth, scope, resource, extra, certificate } = token;
  const { method } = clientAuth;
  const settings: [name: string, value: string | undefined][] = [
    ["clientAuth", method === "post" ? undefined : method],
    // The content of the file is renewed, but stays the same client's.
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

/** The token endpoint of a set (spec 4.2). A configuration without one is refused. */
export function tokenUrlOf({ authUrl }: Environment, { token }: CredentialSet): Address {
  if (token?.url !== undefined) return token.url;
  if (authUrl === undefined) throw new Error("an environment with credentials says where tokens come from");
  return { ...authUrl, path: `${authUrl.path}${tokenPath}` };
}
