import type { FailureCode, Outcome } from "./errors.ts";

/**
 * The end of a callback: the access line of a listener for callbacks. Foreign text in it is printable and bounded. It holds
 * no value of a parameter, no query, no signature and no secret.
 */
export interface CallbackFinished {
  readonly kind: "callback_finished";
  readonly environment: string;
  readonly requestId: string;
  /** `x-request-id` as it came in, where it is well-formed. */
  readonly callerRequestId?: string | undefined;
  /** The trace-id of `traceparent` (W3C Trace Context). */
  readonly traceId?: string | undefined;
  /** Absent where the head could not be read. */
  readonly method?: string | undefined;
  /** The request target up to its query. */
  readonly target?: string | undefined;
  /** Where it came in, as configured. */
  readonly listener: string;
  /** The subject of the certificate of whatever called, where the listener asks for one. */
  readonly caller?: string | undefined;
  readonly callerAddress?: string | undefined;
  /** S…, where the callback named one that is configured; it is true where the callback is genuine. */
  readonly site?: string | undefined;
  /** K… of the key that verified it. */
  readonly key?: string | undefined;
  readonly form?: "json" | "form" | "query" | undefined;
  /** What came of it: a label of metrics, from a fixed list. */
  readonly result: CallbackResult;
  readonly code?: FailureCode | undefined;
  /** What a failure came from: a code, a reason, or the name of a parameter or header. */
  readonly cause?: string | undefined;
  /** The HTTP status that was given. */
  readonly status: number;
  /** `answered`: by the application. */
  readonly outcome: Outcome;
  /** False where the store of replays failed, so that the application may get it twice. */
  readonly isGuarded?: boolean | undefined;
  /** From the complete head to the end of the answer. */
  readonly durationMs: number;
  /** From connecting to the end of the application's answer. */
  readonly applicationMs?: number | undefined;
  readonly requestBytes?: number | undefined;
  readonly responseBytes?: number | undefined;
  readonly callerLeft: boolean;
}

/** What is wrong with a callback that is not genuine. */
export const forgeryReasons = [
  "parameter_missing",
  "site_unknown",
  "key_missing",
  "signature_wrong",
  "timestamp_outside_window",
] as const;
/**
 * `parameter_missing`: version, site_identifier, timestamp or signature. `key_missing`: the site has no key of the
 * callback's version.
 */
export type ForgeryReason = (typeof forgeryReasons)[number];

/**
 * `delivered`: the application answered 2xx. `declined`: it answered something else. `repeated`: it had answered 2xx to the
 * same callback before, so that it did not get it again. The rest: why it did not get it, or gave no answer.
 */
export type CallbackResult = "delivered" | "declined" | "repeated" | ForgeryReason | FailureCode;
