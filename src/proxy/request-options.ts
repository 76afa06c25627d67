import { ProxyError } from "../model/errors.ts";
import { nearestName, nearestWithin } from "../model/nearest-name.ts";
import { valuesOf } from "./headers.ts";
import type { HeaderLine, RequestOptions } from "./messages.ts";

const shortestTimeoutMs = 100;
/** UUIDs, ULIDs, and what gateways and trace systems make; no quotes, no spaces. */
const requestId = /^[A-Za-z0-9._~:;,/+=|-]{1,128}$/;
const reference = /^[A-Za-z0-9._-]{1,64}$/;

const prefix = "countersign-";
const requestHeaders = ["Countersign-Site", "Countersign-Auth", "Countersign-Timeout-Ms", "Countersign-Reference"];
const answerHeaders = [
  "Countersign-Request-Id",
  "Countersign-Outcome",
  "Countersign-Error",
  "Countersign-Attempts",
] as const;
const isKnown = new Set(requestHeaders.map((name) => name.toLowerCase()));
/** A misspelling of our own prefix differs by this much: `X-Countersign-Site`, `Countersing-Site`. */
const mostEditsOfPrefix = 2;
const longestShown = 64;

/**
 * Reads the caller's Countersign-* headers. A misspelt one is refused: a reference that is passed over in silence is missed
 * when the outcome of an order has to be looked for.
 * @param longestTimeoutMs `timeouts.request`
 * @throws ProxyError malformed_request
 */
export function readRequestOptions(headers: readonly HeaderLine[], longestTimeoutMs: number): RequestOptions {
  checkNames(headers);
  return {
    site: readOnce(headers, "countersign-site"),
    auth: readAuth(readOnce(headers, "countersign-auth")),
    timeoutMs: readTimeoutMs(readOnce(headers, "countersign-timeout-ms"), longestTimeoutMs),
    reference: readReference(headers),
  };
}

/** The reference alone, when it is well-formed: a failure before the wishes are read still echoes it. */
export function peekReference(headers: readonly HeaderLine[]): string | undefined {
  const [value, ...more] = valuesOf(headers, "countersign-reference");
  return value !== undefined && more.length === 0 && reference.test(value) ? value : undefined;
}

/** The caller's own `x-request-id`, when it is one well-formed id; anything else is no text for a log. */
export function peekRequestId(headers: readonly HeaderLine[]): string | undefined {
  const [value, ...more] = valuesOf(headers, "x-request-id");
  return value !== undefined && more.length === 0 && requestId.test(value) ? value : undefined;
}

/** The trace-id of `traceparent` (W3C Trace Context), for the log. */
export function peekTraceId(headers: readonly HeaderLine[]): string | undefined {
  return /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(valuesOf(headers, "traceparent")[0] ?? "")?.[1];
}

function readReference(headers: readonly HeaderLine[]): string | undefined {
  const value = readOnce(headers, "countersign-reference");
  if (value === undefined || reference.test(value)) return value;
  throw malformed("Countersign-Reference must be 1 to 64 of A-Z a-z 0-9 . _ -", "Countersign-Reference");
}

function readAuth(value: string | undefined): RequestOptions["auth"] {
  if (value === undefined || value === "oauth" || value === "hmac") return value;
  throw malformed("Countersign-Auth must be oauth or hmac", "Countersign-Auth");
}

function readTimeoutMs(value: string | undefined, longestMs: number): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (ms >= shortestTimeoutMs && ms <= longestMs) return ms;
  const what = `Countersign-Timeout-Ms must be a whole number from ${shortestTimeoutMs} to ${longestMs}`;
  throw malformed(what, "Countersign-Timeout-Ms");
}

function checkNames(headers: readonly HeaderLine[]): void {
  for (const [name] of headers) {
    const given = name.toLowerCase();
    if (isKnown.has(given)) continue;
    if (given.startsWith(prefix)) throw refuseUnknown(name, nearestOfOurs(given));
    // Names without these letters are too far from ours to be compared.
    const meant = /cou|sig/.test(given) ? nearestWithin(given, requestHeaders, mostEditsOfPrefix) : undefined;
    if (meant !== undefined) throw refuseUnknown(name, meant);
  }
}

/** Compared behind the prefix, which they all share: `-Refrence`, `-Ref` and `-Timeout-Seconds` tell what is meant. */
function nearestOfOurs(given: string): string | undefined {
  const tail = given.slice(prefix.length);
  const tails = requestHeaders.map((name) => name.slice(prefix.length));
  const [word = ""] = tail.split("-");
  const alike =
    nearestName(tail, tails) ?? tails.find((each) => word.length > 2 && each.toLowerCase().startsWith(word));
  return alike && `Countersign-${alike}`;
}

/** The log gets the name that is meant, never the foreign one. */
function refuseUnknown(name: string, meant: string | undefined): ProxyError {
  return malformed(explainUnknown(name, meant), meant ?? "unknown Countersign header");
}

/** Headers of our answers are refused as well: they mean nothing in a request, and whoever sends them expects that they do. */
function explainUnknown(name: string, meant: string | undefined): string {
  const answered = answerHeaders.find((each) => each.toLowerCase() === name.toLowerCase());
  if (answered !== undefined) return `${answered} is a header of Countersign's answers; leave it out of requests`;
  const shown = name.length <= longestShown ? name : `${name.slice(0, longestShown)}…`;
  const what = `${shown} is not a header that Countersign knows`;
  return meant === undefined ? `${what}; it takes ${requestHeaders.join(", ")}` : `${what}; write ${meant}`;
}

/** A header given twice is two wishes; which one counts cannot be known. */
function readOnce(headers: readonly HeaderLine[], name: string): string | undefined {
  const [value, ...more] = valuesOf(headers, name);
  if (more.length > 0) throw malformed(`The header ${name} was given ${more.length + 1} times; send it once`, name);
  return value;
}

function malformed(what: string, causedBy: string): ProxyError {
  return new ProxyError("malformed_request", `${what}.`, { causedBy });
}
