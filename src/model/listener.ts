import type { Caller } from "./caller.ts";
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

/** A listener's own certificate, and the authorities that its callers' certificates must come from; PEM texts. */
export interface CallersTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: Secret;
}

/** A token that a listener accepts. */
export interface CallerToken {
  /** Names the caller in the log. Several tokens of one caller may have the same. */
  readonly name: string;
  readonly token: Secret;
}

/** How callers of a listener authenticate. On loopback or a Unix socket a listener may accept all without this. */
export type Callers =
  /** They do not: something else, such as a network policy, decides who reaches the listener. */
  | { readonly kind: "anyone" }
  /** By one of these tokens in Proxy-Authorization (RFC 9110 section 11.7); several while one replaces another. */
  | { readonly kind: "tokens"; readonly tokens: readonly CallerToken[] }
  /** By any client certificate of one of the authorities. */
  | { readonly kind: "mtls"; readonly tls: CallersTls }
  /** Each has a name and rights. With TLS, all prove themselves with a certificate; without, all with a token. */
  | { readonly kind: "named"; readonly callers: readonly Caller[]; readonly tls: CallersTls | undefined };

/** Undefined where a listener speaks no TLS. */
export function callersTlsOf(callers: Callers | undefined): CallersTls | undefined {
  return callers?.kind === "mtls" || callers?.kind === "named" ? callers.tls : undefined;
}

const allRights = { certificates: [], sites: "any", operations: "any", requestsPerSecond: undefined } as const;

/** The callers that have a name. In a list of tokens that is each of these, and may do everything. */
export function callersOf(callers: Callers | undefined): readonly Caller[] {
  if (callers?.kind === "named") return callers.callers;
  if (callers?.kind !== "tokens") return [];
  return callers.tokens.map(({ name, token }) => ({ ...allRights, name, tokens: [token] }));
}
