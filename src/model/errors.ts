import { callbackFailures, callerFailures, onceFailures } from "./further-failures.ts";

/**
 * Every way Countersign can fail to serve a request. `failures` is the whole table: the error reference of the
 * documents (docs/reference/errors.md) is made from it.
 */

/**
 * What is known about the request's effect on the service, over all attempts together.
 *
 * - `answered`: the service's own, complete answer was passed on.
 * - `unknown`: at least one byte of an attempt was written and no complete answer came, or one whose status the
 *   environment calls `undecided`: it may be an intermediary's. Look before repeating.
 * - `not_sent`: nothing reached the service, or every attempt was answered before anything could happen.
 */
export type Outcome = "answered" | "unknown" | "not_sent";

/** One row of the failure table: HTTP status, RFC 9457 title, the outcomes it can have, and what it means. */
export interface Failure {
  readonly status: number;
  readonly title: string;
  readonly outcomes: readonly Outcome[];
  readonly meaning: string;
}

const notSent = ["not_sent"] as const;
const unknown = ["unknown"] as const;

/** Codes in the order of the reference. `target_not_allowed` is 403 when the target names a foreign host. */
export const failures = {
  malformed_request: {
    status: 400,
    title: "Malformed request",
    outcomes: notSent,
    meaning: "The request is not well-formed HTTP/1.1, or a Countersign header is misspelt or has an impossible value.",
  },
  body_not_json: {
    status: 400,
    title: "Body is not a JSON object",
    outcomes: notSent,
    meaning: "The body is not one flat JSON object in valid UTF-8 (RFC 8259), without a byte order mark.",
  },
  duplicate_parameter: {
    status: 400,
    title: "Parameter given twice",
    outcomes: notSent,
    meaning: "Two names are equal after JSON unescaping; which value was meant cannot be known.",
  },
  query_not_allowed: {
    status: 400,
    title: "Query string not allowed",
    outcomes: notSent,
    meaning: "From version 3.0 on every parameter travels in the body, never in the URL.",
  },
  target_not_allowed: {
    status: 400,
    title: "Request target not allowed",
    outcomes: notSent,
    meaning: "The path is not made of plain segments (400), or the target or Host names a foreign host (403).",
  },
  operation_not_allowed: {
    status: 403,
    title: "Operation not allowed",
    outcomes: notSent,
    meaning: "The operation is not in the environment's `operations`.",
  },
  site_not_configured: {
    status: 403,
    title: "Site not configured",
    outcomes: notSent,
    meaning: "The site or key identifier is not configured in the environment of this listener.",
  },
  auth_not_configured: {
    status: 403,
    title: "Authentication method not configured",
    outcomes: notSent,
    meaning: "The site has no such method of authentication.",
  },
  method_not_allowed: {
    status: 405,
    title: "Method not allowed",
    outcomes: notSent,
    meaning:
      "Operations are called with POST, a pass-through route with its `methods`; a CONNECT means that an https URL came " +
      "through a proxy setting.",
  },
  ...callerFailures,
  request_timeout: {
    status: 408,
    title: "Request not received in time",
    outcomes: notSent,
    meaning: "The head or the body of the request arrived too slowly.",
  },
  body_too_large: {
    status: 413,
    title: "Body too large",
    outcomes: notSent,
    meaning: "The body exceeds `limits.bodyBytes`.",
  },
  media_type_not_supported: {
    status: 415,
    title: "Media type not supported",
    outcomes: notSent,
    meaning: "Content-Type is not application/json (charset utf-8 or none), or the body is compressed.",
  },
  expectation_not_supported: {
    status: 417,
    title: "Expectation not supported",
    outcomes: notSent,
    meaning: "An Expect header other than 100-continue.",
  },
  headers_too_large: {
    status: 431,
    title: "Header section too large",
    outcomes: notSent,
    meaning: "More than 100 header lines or more than 16 KiB of them.",
  },
  null_value: {
    status: 422,
    title: "Parameter is null",
    outcomes: notSent,
    meaning: "Every value is sent as a string (spec 2.1), and null has no string form.",
  },
  nested_value: {
    status: 422,
    title: "Parameter is not a plain value",
    outcomes: notSent,
    meaning: "A value is an object or an array; parameters are flat (spec 2.1).",
  },
  decimal_invalid: {
    status: 422,
    title: "Amount is not a decimal with two digits",
    outcomes: notSent,
    meaning:
      "A DECIMAL parameter cannot be written with exactly two digits after the point without rounding (spec 5.2).",
  },
  number_out_of_range: {
    status: 422,
    title: "Number out of range",
    outcomes: notSent,
    meaning: "A number would take more than 64 digits when written without an exponent.",
  },
  character_not_allowed: {
    status: 422,
    title: "Character not allowed in a signed value",
    outcomes: notSent,
    meaning:
      "HMAC only: a value has a character other than letters, digits, hyphen, underscore and period (spec 5.2 rule 3).",
  },
  name_not_allowed: {
    status: 422,
    title: "Parameter name not allowed",
    outcomes: notSent,
    meaning: "A name is empty, longer than 256 characters, or has a character outside A-Z a-z 0-9 _ . and -.",
  },
  version_mismatch: {
    status: 422,
    title: "Version differs from the site's",
    outcomes: notSent,
    meaning: "The body's `version` is not the version configured for the site.",
  },
  site_conflict: {
    status: 422,
    title: "Two different sites named",
    outcomes: notSent,
    meaning: "Countersign-Site and the body's `site_identifier` mean different sites or different keys.",
  },
  site_required: {
    status: 422,
    title: "Site required",
    outcomes: notSent,
    meaning: "No site was named, and the environment has neither a `defaultSite` nor exactly one site.",
  },
  upstream_unreachable: {
    status: 502,
    title: "Service unreachable",
    outcomes: notSent,
    meaning: "No connection to the service: refused, DNS, TLS, or a forward proxy that opened no tunnel.",
  },
  credentials_refused: {
    status: 502,
    title: "Credentials refused by the authorization server",
    outcomes: notSent,
    meaning: "The authorization server refused every configured credential set of the site.",
  },
  upstream_reset: {
    status: 502,
    title: "Connection to the service broke",
    outcomes: unknown,
    meaning: "The connection was reset or closed after bytes were written and before the answer was complete.",
  },
  upstream_bad_response: {
    status: 502,
    title: "Answer of the service not understood",
    outcomes: unknown,
    meaning: "The service answered with something that is not HTTP/1.1.",
  },
  token_unavailable: {
    status: 503,
    title: "No token available",
    outcomes: notSent,
    meaning:
      "No valid token, and the authorization server did not issue one in time. Retry-After says when to come back.",
  },
  overloaded: {
    status: 503,
    title: "Too many requests at once",
    outcomes: notSent,
    meaning: "More connections, requests in flight or buffered bytes than the limits allow.",
  },
  draining: {
    status: 503,
    title: "Shutting down",
    outcomes: notSent,
    meaning: "The process is ending and its time for open requests has run out.",
  },
  body_incomplete: {
    status: 400,
    title: "Body not received in full",
    outcomes: unknown,
    meaning: "Pass-through routes only: the body broke off or stood still after the request had been sent on.",
  },
  upstream_timeout: {
    status: 504,
    title: "No answer in time",
    outcomes: ["unknown", "not_sent"],
    meaning: "The deadline passed: `unknown` if a byte was written, `not_sent` if not.",
  },
  ...onceFailures,
  ...callbackFailures,
  internal: {
    status: 500,
    title: "Internal error",
    outcomes: ["not_sent", "unknown"],
    meaning: "A defect in Countersign. The outcome is stated as far as it is known.",
  },
} as const satisfies Record<string, Failure>;

/** A code of the failure table; part of every failure answer, log line and metric. */
export type FailureCode = keyof typeof failures;

/** Every code, in the order of the reference. */
export const failureCodes = Object.keys(failures) as readonly FailureCode[];

/** Those that any request of an application can fail with. */
export const requestFailureCodes = failureCodes.filter((code) => !(code in callbackFailures || code in onceFailures));

/** How a failure deviates from its row of the table, and what its answer carries along. */
export interface FailureDetails {
  /** Overrides the row's only or first outcome. */
  readonly outcome?: Outcome;
  /** Overrides the row's status (`target_not_allowed` for a foreign host). */
  readonly status?: number;
  /** Sent as Retry-After, rounded up to whole seconds. */
  readonly retryAfterMs?: number;
  /** Sent as Allow. */
  readonly allow?: string;
  /** Each is sent as a Proxy-Authenticate of its own. */
  readonly challenges?: readonly string[];
  /**
   * What it came from, for the log: a code (`ECONNREFUSED`), the name of a parameter, header or setting, or a foreign
   * host. Short, printable, and never a value or a secret.
   */
  readonly causedBy?: string | undefined;
  /** Further members of the problem details (RFC 9457 section 3.2). */
  readonly members?: Readonly<Record<string, unknown>>;
}

/**
 * A failure to serve. The message says what happened and how to fix it, in whole sentences; the answer adds what became
 * of the request. It never holds a secret, a token, a signature or a parameter's value.
 */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  readonly code: FailureCode;
  readonly outcome: Outcome;
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly allow: string | undefined;
  readonly challenges: readonly string[];
  /** The log's `cause`. Not `cause`: that is Error's own, for another error. */
  readonly causedBy: string | undefined;
  readonly members: Readonly<Record<string, unknown>>;

  constructor(code: FailureCode, detail: string, details: FailureDetails = {}) {
    super(detail);
    const row: Failure = failures[code];
    this.code = code;
    this.outcome = details.outcome ?? row.outcomes[0] ?? "unknown";
    this.status = details.status ?? row.status;
    this.retryAfterMs = details.retryAfterMs;
    this.allow = details.allow;
    this.challenges = details.challenges ?? [];
    this.causedBy = details.causedBy;
    this.members = details.members ?? {};
  }
}
