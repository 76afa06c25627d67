import { type HeaderLines, one, valuesOf } from "../http/headers.ts";
import { type AuthMethod, authMethods } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { nearestName, nearestWithin } from "../model/names.ts";

/** The caller's options, from its Countersign-* headers. */
export interface RequestOptions {
  /** Countersign-Site: S… or K…. */
  readonly site: string | undefined;
  readonly auth: AuthMethod | undefined;
  readonly timeoutMs: number | undefined;
  readonly reference: string | undefined;
  /** Countersign-Once, or the header that `once.header` names. */
  readonly once: string | undefined;
}

/** The header that may carry the key of a request, besides Countersign-Once. */
export type OnceHeader = "Countersign-Once" | "Idempotency-Key";

const shortestTimeoutMs = 100;
/** UUIDs, ULIDs, and the ids of gateways and trace systems; no quotes, no spaces. */
const requestIdPattern = /^[A-Za-z0-9._~:;,/+=|-]{1,128}$/;
const referencePattern = /^[A-Za-z0-9._-]{1,64}$/;
/** A string of structured fields (RFC 9651 section 3.3.3), without parameters. */
const fieldString = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
/** Visible ASCII: any identifier that an application gives its orders. */
const oncePattern = /^[\x21-\x7e]{1,255}$/;

const prefix = "countersign-";
const prefixed = /^(?:x-)?countersign-/;
const requestHeaders = [
  "Countersign-Site",
  "Countersign-Auth",
  "Countersign-Timeout-Ms",
  "Countersign-Reference",
  "Countersign-Once",
];
const responseHeaders = [
  "Countersign-Request-Id",
  "Countersign-Outcome",
  "Countersign-Error",
  "Countersign-Attempts",
  "Countersign-Replayed",
  "Countersign-Retry-After",
] as const;
const knownNames = new Set(requestHeaders.map((name) => name.toLowerCase()));
/** A misspelling of our own prefix has at most this many edits: `X-Countersign-Site`, `Countersing-Site`. */
const mostEditsOfPrefix = 2;
const longestShown = 64;

const noOptions: RequestOptions = {
  site: undefined,
  auth: undefined,
  timeoutMs: undefined,
  reference: undefined,
  once: undefined,
};

/**
 * Reads the caller's Countersign-* headers. A misspelt header is refused: if a reference were silently
 * ignored, it would be missing later, when somebody has to look for the order.
 * @param requestMs `timeouts.request`, which Countersign-Timeout-Ms can only shorten
 * @param onceHeader `once.header`, whose key counts like that of Countersign-Once
 * @throws ProxyError malformed_request
 */
export function readRequestOptions(
  headers: HeaderLines,
  requestMs: number,
  onceHeader: OnceHeader = "Countersign-Once",
): RequestOptions {
  let isAnyOurs = false;
  for (let index = 0; index < headers.length; index += 2) isAnyOurs = isOurs(headers[index] ?? "") || isAnyOurs;
  const once = onceHeader === "Countersign-Once" ? undefined : readIdempotencyKey(headers);
  if (!isAnyOurs) return once === undefined ? noOptions : { ...noOptions, once };
  return {
    site: readOnce(headers, "Countersign-Site"),
    auth: readAuth(readOnce(headers, "Countersign-Auth")),
    timeoutMs: readTimeoutMs(readOnce(headers, "Countersign-Timeout-Ms"), requestMs),
    reference: readReference(readOnce(headers, "Countersign-Reference")),
    once: onlyKey(readOnceKey(headers), once),
  };
}

/** The reference alone, if it is well-formed: the answer to a failure repeats it even before the options are read. */
export function peekReference(headers: HeaderLines): string | undefined {
  const value = one(headers, "countersign-reference");
  return referencePattern.test(value ?? "") ? value : undefined;
}

/** The caller's own `x-request-id`, if it is one well-formed id; other text must not reach the log. */
export function peekRequestId(headers: HeaderLines): string | undefined {
  const value = one(headers, "x-request-id");
  return requestIdPattern.test(value ?? "") ? value : undefined;
}

function readReference(value: string | undefined): string | undefined {
  if (value === undefined || referencePattern.test(value)) return value;
  throw malformed("Countersign-Reference must be 1 to 64 of A-Z a-z 0-9 . _ -", "Countersign-Reference");
}

/** @throws ProxyError malformed_request */
export function checkOnceKey(key: string): void {
  if (oncePattern.test(key)) return;
  throw malformed("Countersign-Once must be 1 to 255 visible ASCII characters", "Countersign-Once");
}

function readOnceKey(headers: HeaderLines): string | undefined {
  const key = readOnce(headers, "Countersign-Once");
  if (key !== undefined) checkOnceKey(key);
  return key;
}

/** draft-ietf-httpapi-idempotency-key-header */
function readIdempotencyKey(headers: HeaderLines): string | undefined {
  const value = readOnce(headers, "Idempotency-Key");
  if (value === undefined) return undefined;
  const key = fieldString.exec(value)?.[1]?.replace(/\\(.)/g, "$1");
  if (key !== undefined && oncePattern.test(key)) return key;
  const what = 'Idempotency-Key must be 1 to 255 visible ASCII characters in double quotes, like "order-4711"';
  throw malformed(what, "Idempotency-Key");
}

function onlyKey(once: string | undefined, other: string | undefined): string | undefined {
  if (once === undefined || other === undefined) return once ?? other;
  throw malformed("Countersign-Once and Idempotency-Key were both given; send one of them", "Countersign-Once");
}

function readAuth(value: string | undefined): AuthMethod | undefined {
  const method = authMethods.find((name) => name === value);
  if (value === method) return method;
  throw malformed(`Countersign-Auth must be ${authMethods.join(" or ")}`, "Countersign-Auth");
}

function readTimeoutMs(value: string | undefined, longestMs: number): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (ms >= shortestTimeoutMs && ms <= longestMs) return ms;
  const what = `Countersign-Timeout-Ms must be a whole number from ${shortestTimeoutMs} to ${longestMs}`;
  throw malformed(what, "Countersign-Timeout-Ms");
}

/**
 * Whether this is the name of an option.
 * @throws ProxyError malformed_request if it is nearly the name of an option
 */
function isOurs(name: string): boolean {
  // Too short for a misspelling of our names.
  if (name.length < prefix.length) return false;
  const given = name.toLowerCase();
  if (knownNames.has(given)) return true;
  const hasPrefix = prefixed.test(given);
  // Names without these letters are too far from ours to be compared.
  if (!hasPrefix && !/cou|sig/.test(given)) return false;
  const meant = hasPrefix ? nearestOption(given) : nearestWithin(given, requestHeaders, mostEditsOfPrefix);
  if (!hasPrefix && meant === undefined) return false;
  const shown = name.length <= longestShown ? name : `${name.slice(0, longestShown)}…`;
  throw malformed(explainUnknown(shown, meant), shown);
}

/** Compares the names after their common prefix: `-Refrence`, `-Ref` and `-Timeout-Seconds` show what is meant. */
function nearestOption(given: string): string | undefined {
  const tail = given.replace(prefixed, "");
  const tails = requestHeaders.map((name) => name.slice(prefix.length));
  const [word = ""] = tail.split("-");
  const alike =
    nearestName(tail, tails) ?? tails.find((each) => word.length > 2 && each.toLowerCase().startsWith(word));
  return alike && `Countersign-${alike}`;
}

/** Headers of our responses are refused too: they have no effect in a request, and a caller that sends one expects an effect. */
function explainUnknown(name: string, meant: string | undefined): string {
  const ofResponse = responseHeaders.find((each) => each.toLowerCase() === name.toLowerCase());
  if (ofResponse !== undefined) return `${ofResponse} is a header of Countersign's answers; leave it out of requests`;
  const what = `${name} is not a header that Countersign knows`;
  return meant === undefined ? `${what}; it takes ${requestHeaders.join(", ")}` : `${what}; write ${meant}`;
}

/** Refuses a header that is given twice: which of the two values is meant cannot be known. */
function readOnce(headers: HeaderLines, name: string): string | undefined {
  const values = valuesOf(headers, name.toLowerCase());
  if (values.length <= 1) return values[0];
  throw malformed(`The header ${name} was given ${values.length} times; send it once`, name);
}

function malformed(what: string, causedBy: string): ProxyError {
  return new ProxyError("malformed_request", `${what}.`, { causedBy });
}
