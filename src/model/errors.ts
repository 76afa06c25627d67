/**
 * Every way Countersign can fail to serve a request. `failures` is the whole table: the error reference of the
 * documents (docs/reference/errors.md) is made from it.
 */

import type { HeaderLines } from "../http/headers.ts";
import { fixOfClock } from "./clock.ts";

/**
 * What is known about the request's effect on the service, over all attempts together.
 *
 * - `answered`: the service's own, complete answer was passed on.
 * - `unknown`: at least one byte of an attempt was written, and no complete answer came, or only one whose status is
 *   `undecided` in the environment, such as a server error. Look for the effect before you repeat, unless the method is safe.
 * - `not_sent`: nothing reached the service, or every attempt was answered before anything could happen.
 */
export type Outcome = "answered" | "unknown" | "not_sent";

/** One row of the failure table: HTTP status, RFC 9457 title, the outcomes it can have, what it means, and what to do. */
export interface Failure {
  /** Set if only requests with `Countersign-Once`, only callbacks, or only settlements on the status port can fail with this code. */
  readonly only?: "once" | "callback" | "settlement";
  readonly status: number;
  readonly title: string;
  readonly outcomes: readonly Outcome[];
  readonly meaning: string;
  /** What to do, for the operator; a clause. Undefined if that depends on the cause, or if there is nothing to do. */
  readonly fix?: string;
}

const unknown = ["unknown"] as const;

const thenLook = "look for the order before it is sent again";
const seeRedis = "it needs tokens.cache: redis; countersign doctor says what is wrong with that Redis";
const seeToken = "see the line token_requested, which says why and what to do";
const seeApplication = "see the application's log";

/**
 * Codes in the order of the reference. A row without outcomes has `not_sent` alone. `target_not_allowed` is 403 when the
 * target names a foreign host, `guarantee_not_given` 425 for early data.
 */
const rows = {
  malformed_request: {
    status: 400,
    title: "Malformed request",
    meaning: "The request is not well-formed HTTP/1.1, or a Countersign header is misspelt or has an impossible value.",
    fix: "correct the part that the cause names; of another protocol such as TLS, the client has to speak plain HTTP/1.1",
  },
  guarantee_not_given: {
    status: 400,
    title: "Guarantee not given",
    meaning:
      "A header asks for a guarantee that Countersign does not give for it, such as Idempotency-Key without `once.header`, and `forwardHeaders` does not pass it on (400). An order came as early data of TLS (425, RFC 8470).",
    fix: "leave that header out, or list it in forwardHeaders",
  },
  body_not_json: {
    status: 400,
    title: "Body is not a JSON object",
    meaning: "The body is not one flat JSON object in valid UTF-8 (RFC 8259), without a byte order mark.",
    fix: "send one JSON object in UTF-8",
  },
  duplicate_parameter: {
    status: 400,
    title: "Parameter given twice",
    meaning: "Two names are equal after JSON unescaping.",
    fix: "send each name once",
  },
  secret_in_body: {
    status: 400,
    title: "Secret in the body",
    meaning:
      "A parameter is called `secret_key` (spec 5.2 step 1), or its value is a secret of the listener's environment: an HMAC key, a client secret, a private key, a proxy's credentials.",
    fix: "leave the key or secret out: Countersign proves who the site is",
  },
  query_not_allowed: {
    status: 400,
    title: "Query string not allowed",
    meaning:
      "The request target has a query. Countersign takes the parameters of every version from the body alone; from version 3.0 on the service does, too (spec 9). A look-up of a once key has `?answer` or none.",
    fix: "send the parameters in the body",
  },
  target_not_allowed: {
    status: 400,
    title: "Request target not allowed",
    meaning: "The path is not made of plain segments (400), or the target or Host names a foreign host (403).",
    fix: "send plain paths, to this listener's own host; its hosts may have more names",
  },
  operation_not_allowed: {
    status: 403,
    title: "Operation not allowed",
    meaning: "The operation is not in the environment's `operations`.",
    fix: "correct the path, or add the operation to the environment's operations",
  },
  site_not_configured: {
    status: 403,
    title: "Site not configured",
    meaning: "The environment of this listener has no such site or key.",
    fix: "name a site that the environment has, or configure this one",
  },
  auth_not_configured: {
    status: 403,
    title: "Authentication method not configured",
    meaning: "The site has no such method of authentication.",
    fix: "name a site that has this method, or configure it",
  },
  method_not_allowed: {
    status: 405,
    title: "Method not allowed",
    meaning:
      "Operations are called with POST, a pass-through route with its `methods`, a once key is looked up with GET; a CONNECT means that an https URL came " +
      "through a proxy setting.",
    fix: "send POST to operations; of CONNECT, write http:// and not https://",
  },
  caller_not_authenticated: {
    status: 407,
    title: "Caller not authenticated",
    meaning: "The request has no token that the listener knows.",
    fix: "send the token of one of the listener's callers",
  },
  caller_not_known: {
    status: 403,
    title: "Caller not known",
    meaning:
      "The client certificate comes from a known authority, but its names match no caller of the listener, or several.",
    fix: "configure one name of the certificate as a caller's",
  },
  caller_not_allowed: {
    status: 403,
    title: "Caller not allowed",
    meaning: "The operation or the site is not in the caller's `operations` or `sites`.",
    fix: "add it to the caller's operations or sites",
  },
  caller_rate_limited: {
    status: 429,
    title: "Caller makes too many requests",
    meaning: "The caller makes more than its `requestsPerSecond`.",
    fix: "send less, or raise the caller's requestsPerSecond",
  },
  request_timeout: {
    status: 408,
    title: "Request not received in time",
    meaning:
      "The request's head or body arrived too slowly. A connection on which nothing was sent is closed in silence.",
    fix: "see what holds up the caller or its network",
  },
  body_too_large: {
    status: 413,
    title: "Body too large",
    meaning: "The body exceeds `limits.bodyBytes`.",
    fix: "send less, or raise limits.bodyBytes",
  },
  media_type_not_supported: {
    status: 415,
    title: "Media type not supported",
    meaning: "Content-Type is not application/json (charset utf-8 or none), or the body is compressed.",
    fix: "send Content-Type: application/json, in UTF-8, uncompressed; curl -d alone sends a form",
  },
  expectation_not_supported: {
    status: 417,
    title: "Expectation not supported",
    meaning: "An Expect header other than 100-continue.",
    fix: "leave Expect out",
  },
  headers_too_large: {
    status: 431,
    title: "Header section too large",
    meaning: "More than 100 header lines or more than 16 KiB of them.",
    fix: "send fewer headers: at most 100 lines, 16 KiB",
  },
  null_value: {
    status: 422,
    title: "Parameter is null",
    meaning: "Every value is sent as a string (spec 2.1), and null has no string form.",
    fix: "leave the parameter out, or give it a value",
  },
  nested_value: {
    status: 422,
    title: "Parameter is not a plain value",
    meaning: "A value is an object or an array; parameters are flat (spec 2.1).",
    fix: "send a plain value",
  },
  decimal_invalid: {
    status: 422,
    title: "Amount is not a decimal with two digits",
    meaning:
      "A DECIMAL parameter cannot be written with exactly two digits after the point without rounding (spec 5.2).",
    fix: "send an amount with two digits after the point",
  },
  number_out_of_range: {
    status: 422,
    title: "Number out of range",
    meaning: "A number would take more than 64 digits when written without an exponent.",
    fix: "send a shorter number",
  },
  character_not_allowed: {
    status: 422,
    title: "Character not allowed in a signed value",
    meaning:
      "HMAC only: a value has a character other than letters, digits, hyphen, underscore and period (spec 5.2 rule 3).",
    fix: "send letters, digits, hyphen, underscore and period alone, or use OAuth",
  },
  name_not_allowed: {
    status: 422,
    title: "Parameter name not allowed",
    meaning:
      "A name is empty, longer than 256 characters, or has a character outside A-Z a-z 0-9 _ . and -, or is that of a Countersign header.",
    fix: "rename the parameter",
  },
  version_mismatch: {
    status: 422,
    title: "Version differs from the site's",
    meaning: "The body's `version` is not the site's.",
    fix: "leave version out",
  },
  site_conflict: {
    status: 422,
    title: "Two different sites named",
    meaning: "Countersign-Site and the body's `site_identifier` mean different sites or different keys.",
    fix: "name one site",
  },
  site_required: {
    status: 422,
    title: "Site required",
    meaning: "No site was named, and the environment has neither a `defaultSite` nor exactly one site.",
    fix: "name a site in Countersign-Site, or set defaultSite",
  },
  upstream_unreachable: {
    status: 502,
    title: "Service unreachable",
    meaning: "No connection to the service: refused, DNS, TLS, or a forward proxy that opened no tunnel.",
  },
  credentials_refused: {
    status: 502,
    title: "Credentials refused by the authorization server",
    meaning: "The authorization server refused every credential set of the site.",
    fix: seeToken,
  },
  upstream_reset: {
    status: 502,
    title: "Connection to the service broke",
    outcomes: unknown,
    meaning:
      "The connection was reset or closed after bytes were written and before the answer was complete. Over TLS a close completes no answer.",
    fix: `see what breaks the connection: the service, or a balancer or firewall before it; ${thenLook}`,
  },
  upstream_bad_response: {
    status: 502,
    title: "Answer of the service not understood",
    outcomes: unknown,
    meaning: "The service's answer is not HTTP/1.1, or not to this request.",
    fix: `see who answers there, and with what; ${thenLook}`,
  },
  token_unavailable: {
    status: 503,
    title: "No token available",
    meaning: "No valid token, and the authorization server did not issue one in time.",
    fix: seeToken,
  },
  overloaded: {
    status: 503,
    title: "Too many requests at once",
    meaning: "More connections, requests in flight or buffered bytes than the limits allow.",
    fix: "send less at once, or raise the limit that the cause names",
  },
  draining: {
    status: 503,
    title: "Shutting down",
    meaning: "The process ends: the time for open requests is over, or a second signal has ended it.",
    fix: "send it to another process: this one ends",
  },
  body_incomplete: {
    status: 400,
    title: "Body not received in full",
    outcomes: unknown,
    meaning: "Pass-through routes only: the body broke off or stood still after the head was sent.",
    fix: `see why the caller broke off; ${thenLook}`,
  },
  upstream_timeout: {
    status: 504,
    title: "No answer in time",
    outcomes: ["unknown", "not_sent"],
    meaning:
      "The deadline passed, or the process ended before (`cause: shutdown`): `unknown` if a byte was written, `not_sent` if not.",
    fix: `see whether the service, or what stands before it, is slow; ${thenLook}`,
  },
  already_sent: {
    only: "once",
    status: 409,
    title: "Already sent",
    meaning:
      "A request with this Countersign-Once was sent before, and its answer is not known or not kept; `first` says what is.",
    fix: "leave it: no second order was sent, and the answer says what is known of the first",
  },
  once_in_progress: {
    only: "once",
    status: 409,
    title: "First request in progress",
    meaning: "The first request with this Countersign-Once is still under way at this one's deadline.",
    fix: "send it again later, with the same key",
  },
  once_key_reused: {
    only: "once",
    status: 422,
    title: "Key of another request",
    meaning: "This Countersign-Once belongs to a request with another operation or other parameters.",
    fix: "give each order a key of its own",
  },
  once_unavailable: {
    only: "once",
    status: 503,
    title: "Repetitions cannot be recognised",
    meaning:
      "Whether this Countersign-Once was used cannot be looked up or kept: there is no Redis, it does not answer or refuses, or no replica confirms the key. This request has not used it; an earlier one may have.",
    fix: seeRedis,
  },
  outcome_not_listed: {
    only: "settlement",
    status: 404,
    title: "No such unknown outcome",
    meaning:
      "This process has no request of that id whose outcome is unknown; or the given once key is not that request's.",
  },
  outcome_not_unknown: {
    only: "settlement",
    status: 409,
    title: "Outcome not unknown",
    meaning: "The request is still under way, or the service has answered it after all.",
  },
  outcome_settled: {
    only: "settlement",
    status: 409,
    title: "Outcome settled otherwise",
    meaning: "The outcome was settled before, with the opposite result, which stays.",
  },
  callback_not_genuine: {
    only: "callback",
    status: 401,
    title: "Callback not genuine",
    meaning: "A callback's signature, timestamp or site is not the service's (spec 6). The log has the reason.",
  },
  callback_too_old: {
    only: "callback",
    status: 422,
    title: "Callback too old",
    meaning: "A genuine callback was signed longer ago than `callbacks.remember`: it may have been delivered before.",
    fix: "look for the order",
  },
  callback_too_early: {
    only: "callback",
    status: 503,
    title: "Callback from the future",
    meaning: "A genuine callback's timestamp is more than 10 minutes ahead of this clock: one of the two is wrong.",
    fix: `see this machine's clock: ${fixOfClock}`,
  },
  callback_replayed: {
    only: "callback",
    status: 409,
    title: "Callback replayed",
    meaning: "The application has taken a callback with this signature, and this one has other bytes.",
  },
  callback_in_delivery: {
    only: "callback",
    status: 503,
    title: "Callback in delivery",
    meaning: "The same callback is just being delivered.",
  },
  replay_store_unavailable: {
    only: "callback",
    status: 503,
    title: "Replays cannot be recognised",
    meaning: "With `replay: strict`: whether the callback was delivered before is not known.",
    fix: seeRedis,
  },
  application_unreachable: {
    only: "callback",
    status: 502,
    title: "Application unreachable",
    meaning: "No connection to a callback's application: refused, DNS, or TLS.",
  },
  application_failed: {
    only: "callback",
    status: 502,
    title: "No answer of the application",
    outcomes: unknown,
    meaning:
      "After bytes of a callback were written, the application's connection broke, or its answer is not HTTP/1.1 or too long.",
    fix: seeApplication,
  },
  application_timeout: {
    only: "callback",
    status: 504,
    title: "No answer of the application in time",
    outcomes: ["unknown", "not_sent"],
    meaning: "A callback's `application.timeout` passed: `unknown` if a byte was written, `not_sent` if not.",
    fix: `${seeApplication}, or raise its timeout`,
  },
  internal: {
    status: 500,
    title: "Internal error",
    outcomes: ["not_sent", "unknown"],
    meaning: "A defect in Countersign.",
    fix: "report the line of its defect",
  },
} as const satisfies Record<string, Omit<Failure, "outcomes"> & Partial<Failure>>;

/** A code of the failure table; part of every failure answer, log line and metric. */
export type FailureCode = keyof typeof rows;

export const failures = Object.fromEntries(
  Object.entries(rows).map(([code, row]) => [code, { outcomes: ["not_sent"], ...row }]),
) as unknown as Readonly<Record<FailureCode, Failure>>;

/** Every code, in the order of docs/reference/errors.md. */
export const failureCodes = Object.keys(failures) as readonly FailureCode[];

/** The codes with which any request of an application can fail. */
export const requestFailureCodes = failureCodes.filter((code) => !("only" in failures[code]));

/** How a failure deviates from its row of the table, and what its answer carries along. */
interface FailureDetails {
  /** Overrides the row's only or first outcome. */
  readonly outcome?: Outcome;
  /** Overrides the row's status (`target_not_allowed`, `guarantee_not_given`). */
  readonly status?: number | undefined;
  /** Sent as Retry-After, rounded up to whole seconds. */
  readonly retryAfterMs?: number | undefined;
  /** Further header lines of the answer, such as Allow. */
  readonly headers?: HeaderLines;
  /**
   * The cause, for the log: a code (`ECONNREFUSED`), the name of a parameter, header or setting, or a foreign host. Short,
   * printable, and never a value or a secret.
   */
  readonly causedBy?: string | undefined;
  /** Further members of the problem details (RFC 9457 section 3.2). */
  readonly members?: Readonly<Record<string, unknown>>;
}

/**
 * A failure to serve. The message says what happened and how to fix it, in whole sentences; the answer adds the outcome of
 * the request. The message never holds a secret, a token, a signature or a parameter's value.
 */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  readonly code: FailureCode;
  readonly outcome: Outcome;
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly headers: HeaderLines;
  /** The log's `cause`. Not named `cause`: in Error that name is for another error. */
  readonly causedBy: string | undefined;
  readonly members: Readonly<Record<string, unknown>>;

  constructor(code: FailureCode, detail: string, details: FailureDetails = {}) {
    super(detail);
    const row = failures[code];
    this.code = code;
    this.outcome = details.outcome ?? row.outcomes[0] ?? "unknown";
    this.status = details.status ?? row.status;
    this.retryAfterMs = details.retryAfterMs;
    this.headers = details.headers ?? [];
    this.causedBy = details.causedBy;
    this.members = details.members ?? {};
  }
}

/** Whether it is a failure's code that tells the caller of a mistake of its own. */
export function isMistake(code: string): boolean {
  return (failures[code as FailureCode]?.status ?? 500) < 500;
}

/**
 * The process ends before the request does.
 * @param wasWritten whether a byte of the request was written
 */
export function shutDown(wasWritten: boolean): ProxyError {
  const what = "Countersign is shutting down, and its time for open requests has run out.";
  return wasWritten
    ? new ProxyError("upstream_timeout", what, { outcome: "unknown", causedBy: "shutdown" })
    : new ProxyError("draining", what, { retryAfterMs: 1_000, causedBy: "shutdown" });
}
