import { type HeaderLines, valuesOf } from "../http/headers.ts";
import { printable } from "../model/defect.ts";
import type { Site } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import type { CallerRegistry, KnownCaller } from "./caller-registry.ts";
import { longestOperation } from "./context.ts";
import type { CallerRequest, ListenerContext, Peer } from "./messages.ts";

/** One line for each: many callers read only the first challenge of a line (RFC 9110 section 11.7.1). */
const challenges: HeaderLines = ['Bearer realm="countersign"', 'Basic realm="countersign", charset="UTF-8"'].flatMap(
  (challenge) => ["Proxy-Authenticate", challenge],
);
const advice =
  "This listener wants a token with every request: give it as Proxy-Authorization: Bearer <token>, or in the proxy's " +
  "URL as http://caller:<token>@host:port.";

/** RFC 6750 section 2.1, and RFC 7617 section 2; schemes are compared without case. */
const bearer = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;
const basic = /^Basic +([A-Za-z0-9+/]+=*)$/i;
const longestNames = 256;

/**
 * Authenticates the caller, if the listener demands it, before anything else in the request is checked: a caller without
 * proof uses no permit and learns no site and no operation.
 * @returns the caller; undefined if callers have no names
 * @throws ProxyError caller_not_authenticated, caller_not_known
 */
export function authenticateCaller(
  { headers, peer }: Pick<CallerRequest, "headers" | "peer">,
  { callers }: Pick<ListenerContext, "callers">,
): KnownCaller | undefined {
  if (callers === undefined) return undefined;
  return callers.byToken ? findByToken(headers, callers) : findByCertificate(peer, callers);
}

function findByToken(headers: HeaderLines, callers: CallerRegistry): KnownCaller {
  const [value, ...more] = valuesOf(headers, "proxy-authorization");
  if (value === undefined) {
    const elsewhere = valuesOf(headers, "authorization").length > 0 ? "; its Authorization is not read here" : "";
    throw refuse(`The request has no Proxy-Authorization${elsewhere}`, "no Proxy-Authorization");
  }
  if (more.length > 0) {
    throw refuse(`Proxy-Authorization was given ${more.length + 1} times; give it once`, "several Proxy-Authorization");
  }
  const given = readToken(value);
  if (given === undefined) throw refuse("Proxy-Authorization holds no token that can be read", "malformed token");
  const caller = callers.findByToken(given);
  if (caller !== undefined) return caller;
  throw refuse("The token in Proxy-Authorization is not one of this listener's", "unknown token");
}

/** The handshake has verified the certificate; the configuration says which of its names may call here. */
function findByCertificate(peer: Peer | undefined, callers: CallerRegistry): KnownCaller {
  const names = peer?.certificateNames ?? [];
  const [caller, ...others] = callers.findByCertificate(names);
  if (caller !== undefined && others.length === 0) return caller;
  const shown = names.length === 0 ? "no URI and no DNS name" : printable(names.join(", "), longestNames);
  if (caller === undefined) {
    const what = `The client certificate names no caller of this listener. It has ${shown}`;
    throw new ProxyError("caller_not_known", `${what}; one of its names has to be configured as a caller's.`, {
      causedBy: "unknown certificate",
    });
  }
  const what = `The client certificate names several callers of this listener: it has ${shown}`;
  throw new ProxyError("caller_not_known", `${what}. Give each caller a certificate of its own.`, {
    causedBy: "certificate of several callers",
  });
}

/** A client with user and password in its proxy URL sends Basic; the user name is ignored. */
function readToken(credentials: string): string | undefined {
  const encoded = basic.exec(credentials)?.[1];
  if (encoded === undefined) return bearer.exec(credentials)?.[1];
  return /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, "base64").toString("utf8"))?.[1];
}

function refuse(what: string, causedBy: string): ProxyError {
  return new ProxyError("caller_not_authenticated", `${what}. ${advice}`, { headers: challenges, causedBy });
}

/**
 * Counts a request of this caller, even one that fails later.
 * @throws ProxyError caller_rate_limited
 */
export function checkCallerRate(caller: KnownCaller | undefined): void {
  const retryAfterMs = caller?.rate?.take();
  if (caller === undefined || retryAfterMs === undefined) return;
  const what = `Caller ${caller.name} makes more requests than it may: ${caller.requestsPerSecond} a second`;
  throw new ProxyError("caller_rate_limited", `${what} (requestsPerSecond). Send this one again after Retry-After.`, {
    retryAfterMs,
    causedBy: "requestsPerSecond",
  });
}

/** @throws ProxyError caller_not_allowed */
export function checkCallerOperation(caller: KnownCaller | undefined, operation: string): void {
  if (caller === undefined || caller.operations === "any" || caller.operations.has(operation)) return;
  throw notAllowed(`Caller ${caller.name} may not call ${printable(operation, longestOperation)}`, "operations");
}

/**
 * Checks any chosen site: one that was named by header, by body or by a key, and the default site.
 * @throws ProxyError caller_not_allowed
 */
export function checkCallerSite(caller: KnownCaller | undefined, { identifier }: Site): void {
  if (caller === undefined || caller.sites === "any" || caller.sites.has(identifier)) return;
  throw notAllowed(`Caller ${caller.name} may not use site ${identifier}, which this request is for`, "sites");
}

/** @param causedBy the setting that does not allow the request */
function notAllowed(what: string, causedBy: "operations" | "sites"): ProxyError {
  const fix = "Have it added there, in Countersign's configuration.";
  return new ProxyError("caller_not_allowed", `${what}: it is not in the caller's ${causedBy}. ${fix}`, { causedBy });
}
