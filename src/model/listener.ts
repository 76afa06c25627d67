import type { Secret } from "./secret.ts";

/** Where a server listens: a TCP address, or a Unix socket's path. */
export type Bind =
  /** An empty host stands for every address. */
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/** As in the configuration: `127.0.0.1:7411`, `:7411`, `[::1]:7411` or `unix:/run/…`. */
export function describeBind(bind: Bind): string {
  if (bind.kind === "unix") return `unix:${bind.path}`;
  return `${bind.host.includes(":") ? `[${bind.host}]` : bind.host}:${bind.port}`;
}

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

/** A listener's own certificate, and the authorities that its callers' certificates must come from; PEM texts. */
export interface CallersTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: Secret;
}

/** Who may call on a listener. On loopback or a Unix socket a listener may accept all without this. */
export type Callers =
  /** Something else, such as a network policy, decides who reaches the listener. */
  | { readonly kind: "anyone" }
  /** Each has a name and rights. With TLS, all prove themselves with a certificate; without, all with a token. */
  | { readonly kind: "named"; readonly callers: readonly Caller[]; readonly tls: CallersTls | undefined };

/** Undefined where a listener speaks no TLS. */
export function callersTlsOf(callers: Callers | undefined): CallersTls | undefined {
  return callers?.kind === "named" ? callers.tls : undefined;
}

export function callersOf(callers: Callers | undefined): readonly Caller[] {
  return callers?.kind === "named" ? callers.callers : [];
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

const loopback = /^(?:::ffff:)?127\.|^::1$/;

/**
 * The machine that a client calls from, by which what it takes is counted. Clients on this machine cannot be told apart.
 * @param address undefined over a Unix socket
 * @returns empty for this machine
 */
export function callerHost(address: string | undefined): string {
  return address === undefined || loopback.test(address) ? "" : address;
}
