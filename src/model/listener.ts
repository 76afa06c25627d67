import type { Secret } from "./secret.ts";

/** Where a server listens: a TCP address, or a Unix socket's path. */
export type Bind =
  /** An empty host stands for every address. */
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/** The paths below it are Countersign's own, on each listener of applications: no operation and no route has them. */
export const ownPrefix = "/.countersign/";

/** As in the configuration: `127.0.0.1:7411`, `:7411`, `[::1]:7411` or `unix:/run/…`. */
export function describeBind(bind: Bind): string {
  if (bind.kind === "unix") return `unix:${bind.path}`;
  return `${bind.host.includes(":") ? `[${bind.host}]` : bind.host}:${bind.port}`;
}

/**
 * The shell command that settles an unknown outcome.
 * @param address of the status port
 */
export function settlingCommand(requestId: string, address: string): string {
  const url = `http://${address}/status/unknown/${requestId}`;
  return `curl -sS -H 'Content-Type: application/json' -d '{"found":true}' '${url}'`;
}

/**
 * A caller that a listener knows by name, and its rights there. Listeners of an environment that have the same name have the
 * same caller.
 */
export interface Caller {
  /** Shown in logs, metrics and `/status`. */
  readonly name: string;
  /** Each of these proves the caller (RFC 9110 section 11.7); several during a rotation. Empty if certificates prove it. */
  readonly tokens: readonly Secret[];
  /** Each of these names in a client certificate, as in `certificateNames`, proves the caller. Empty if tokens prove it. */
  readonly certificates: readonly string[];
  /** S… of the sites that it may use. */
  readonly sites: ReadonlySet<string> | "any";
  readonly operations: ReadonlySet<string> | "any";
  /** How many requests a second it may make at each replica; undefined: no limit of its own. */
  readonly requestsPerSecond: number | undefined;
}

/** A listener's own certificate, and the authorities that its callers' certificates must come from; PEM texts. */
export interface CallersTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: Secret;
}

/** Who may call a listener. On loopback or a Unix socket a listener needs no `callers`, and then accepts all. */
export type Callers =
  /** Something else, such as a network policy, decides who reaches the listener. */
  | { readonly kind: "anyone" }
  /** Each caller has a name and rights. With TLS, all prove themselves with a certificate; without, all with a token. */
  | { readonly kind: "named"; readonly callers: readonly Caller[]; readonly tls: CallersTls | undefined };

/** Undefined for a listener without TLS. */
export function callersTlsOf(callers: Callers | undefined): CallersTls | undefined {
  return callers?.kind === "named" ? callers.tls : undefined;
}

export function callersOf(callers: Callers | undefined): readonly Caller[] {
  return callers?.kind === "named" ? callers.callers : [];
}

/** One name of the extension, as Node.js writes it: a value that could be read as several names is a JSON string. */
const alternativeName = /(?:^|, )([A-Za-z0-9 ]+):("(?:[^"\\]|\\.)*"|[^",]*)/y;

/**
 * The names by which a certificate can be known, each with its kind: `URI:spiffe://…` unchanged, `DNS:…` in lower case. Other
 * names, above all the subject's common name, identify no caller (RFC 6125 section 6.4.4, RFC 9525 section 2).
 * @param subjectAltName as in X509Certificate
 * @returns an empty list if the text cannot be parsed
 */
export function certificateNames(subjectAltName: string | undefined): readonly string[] {
  if (subjectAltName === undefined) return [];
  const names: string[] = [];
  alternativeName.lastIndex = 0;
  while (alternativeName.lastIndex < subjectAltName.length) {
    const [, kind = "", value = ""] = alternativeName.exec(subjectAltName) ?? [];
    if (kind === "") return [];
    const isPlain = !value.startsWith('"');
    // No configuration could have a name that has to be quoted.
    if (isPlain && kind === "URI") names.push(`URI:${value}`);
    if (isPlain && kind === "DNS") names.push(`DNS:${value.toLowerCase()}`);
  }
  return names;
}

const loopback = /^(?:::ffff:)?127\.|^::1$/;

/**
 * The machine that a client calls from: its use of resources is counted. Clients on this machine cannot be distinguished.
 * @param address undefined over a Unix socket
 * @returns empty for this machine
 */
export function callerHost(address: string | undefined): string {
  return address === undefined || loopback.test(address) ? "" : address;
}
