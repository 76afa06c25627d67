/** Which of the two simulated hosts. */
export type HostName = "api" | "login";

/** Whom a fault is for, and how often. */
export interface FaultScope {
  readonly host: HostName;
  /** How many requests it meets; default 1. */
  readonly times?: number | "until_cleared";
  /** Only requests of this Site or Key Identifier; at the authorization server, of sets that were generated at this site. */
  readonly site?: string;
  /** Only requests with this client's credentials or tokens. */
  readonly clientId?: string;
  /** Waits this long before it does what it does. */
  readonly delayMs?: number;
}

/** Another answer instead of the service's own: 429 with Retry-After, 5xx, redirects, malformed from the authorization server. */
export interface AnswerFault {
  readonly kind: "answer";
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * True: the request takes effect first (the order exists, the token is issued), and `{{order_id}}` or `{{token}}` in
   * the body becomes its name. Default false: as if the request had never got through.
   */
  readonly executes?: boolean;
}

/**
 * What goes wrong. Except for `answer` and a reset before reading, the request takes its full effect, and only the way
 * back is broken: that is what makes an outcome unknown.
 */
export type FaultAction =
  | AnswerFault
  /** Nothing is answered until the fault is released. */
  | { readonly kind: "hang" }
  /** The honest answer, late: `delayMs` says how late. */
  | { readonly kind: "delay"; readonly delayMs: number }
  /** The honest answer, with a body that comes in small pieces (1 byte each 10 ms when not said). */
  | { readonly kind: "drip"; readonly chunkBytes?: number; readonly intervalMs?: number }
  /** A TCP reset (RST). */
  | { readonly kind: "reset"; readonly when: "before_reading" | "after_reading" | "mid_answer" }
  /** Half of the announced body, then an orderly close. */
  | { readonly kind: "truncate" }
  /** These bytes instead of an HTTP answer, each character one byte (latin1); then a close unless `close` is false. */
  | { readonly kind: "raw"; readonly bytes: string; readonly close?: boolean }
  /** The honest answer, then a close that it did not announce: the connection is stale for its owner. */
  | { readonly kind: "close_after_answer" }
  /** All tokens are revoked just before the request is judged. */
  | { readonly kind: "revoke_tokens" };

export type FaultKind = FaultAction["kind"];

/** One misbehaviour that is asked for. */
export type Fault = FaultScope & FaultAction;

/** Whether the request still creates its order or gets its token issued. */
export function takesEffect(fault: FaultAction | undefined): boolean {
  return fault?.kind !== "answer" || fault.executes === true;
}
