import { validateHeaderName, validateHeaderValue } from "node:http";

/** Which of the two simulated hosts. */
export type HostName = "api" | "login";

/** Which requests a fault meets, and how many. */
export interface FaultScope {
  readonly host: HostName;
  /** How many requests it meets; default 1. */
  readonly times?: number | "until_cleared";
  /** Only requests of this Site or Key Identifier; at the authorization server, of sets that were generated at this site. */
  readonly site?: string;
  /** Only requests with this client's credentials or tokens. */
  readonly clientId?: string;
  /** The fault waits this long before its effect. */
  readonly delayMs?: number;
}

/** Another answer instead of the service's own: 429 with Retry-After, 5xx, redirects, malformed token answers. */
export interface AnswerFault {
  readonly kind: "answer";
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * True: the request takes effect first (the order exists, the token is issued), and `{{order_id}}` or `{{token}}` in
   * the body is replaced by it. Default false: as if the request had never arrived.
   */
  readonly executes?: boolean;
}

/**
 * The kinds of faults. Except for `answer` and a reset before reading, the request takes its full effect, and only the
 * answer is broken: that makes an outcome unknown.
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
  /** The honest answer, then a close without `Connection: close`: the client keeps a stale connection. */
  | { readonly kind: "close_after_answer" }
  /** All tokens are revoked just before the request is judged. */
  | { readonly kind: "revoke_tokens" };

export type FaultKind = FaultAction["kind"];

/** One requested misbehaviour. */
export type Fault = FaultScope & FaultAction;

/** Whether the request still creates its order or gets its token issued. */
export function takesEffect(fault: FaultAction | undefined): boolean {
  return fault?.kind !== "answer" || fault.executes === true;
}

/** The values that a field accepts, in words, and the check of a value. */
interface Field {
  readonly wanted: string;
  readonly isValid: (value: unknown) => boolean;
  readonly required?: true;
}

type Fields = Readonly<Record<string, Field>>;

const text: Field = { wanted: "a string", isValid: (value) => typeof value === "string" };
const flag: Field = { wanted: "true or false", isValid: (value) => typeof value === "boolean" };
const delayMs = whole(0, 3_600_000);

const scopeFields: Fields = {
  host: required(oneOf("api", "login")),
  times: {
    wanted: 'a whole number from 1 on, or "until_cleared"',
    isValid: (value) => value === "until_cleared" || whole(1, Number.MAX_SAFE_INTEGER).isValid(value),
  },
  site: text,
  clientId: text,
  delayMs,
};

const headers: Field = { wanted: "an object of valid header names and string values", isValid: areHeaders };

const fieldsOf: Readonly<Record<FaultKind, Fields>> = {
  answer: { status: required(whole(200, 599)), headers, body: text, executes: flag },
  hang: {},
  delay: { delayMs: required(delayMs) },
  drip: { chunkBytes: whole(1, 1_048_576), intervalMs: whole(1, 60_000) },
  reset: { when: required(oneOf("before_reading", "after_reading", "mid_answer")) },
  truncate: {},
  raw: {
    bytes: required({
      wanted: "a string of characters up to \\u00ff, each one byte",
      // biome-ignore lint/suspicious/noControlCharactersInRegex: every byte may be sent
      isValid: (value) => typeof value === "string" && /^[\u0000-\u00ff]*$/.test(value),
    }),
    close: flag,
  },
  close_after_answer: {},
  revoke_tokens: {},
};

/**
 * Reads a fault from foreign input.
 * @throws Error saying what is accepted
 */
export function readFault(input: unknown): Fault {
  if (typeof input !== "object" || input === null) throw new Error("a fault is an object with host and kind");
  const given = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const kind = given.get("kind");
  const kinds = Object.keys(fieldsOf);
  if (!isFaultKind(kind)) throw new Error(`kind must be one of ${kinds.join(", ")}`);
  const fields: Fields = { ...scopeFields, ...fieldsOf[kind] };
  given.delete("kind");
  for (const [name, value] of given) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) throw new Error(`${kind} has no ${name}; it takes ${Object.keys(fields).join(", ")}`);
    if (!field.isValid(value)) throw new Error(`${name} must be ${field.wanted}`);
  }
  for (const [name, field] of Object.entries(fields)) {
    if (field.required && !given.has(name)) throw new Error(`${kind} needs ${name}: ${field.wanted}`);
  }
  const isUnread = kind === "reset" && given.get("when") === "before_reading";
  if (isUnread && (given.has("site") || given.has("clientId"))) {
    throw new Error("a reset before reading cannot be limited to a site or clientId: they are not known yet");
  }
  return input as Fault;
}

function isFaultKind(value: unknown): value is FaultKind {
  return typeof value === "string" && Object.hasOwn(fieldsOf, value);
}

function required(field: Field): Field {
  return { ...field, required: true };
}

function whole(least: number, most: number): Field {
  return {
    wanted:
      most === Number.MAX_SAFE_INTEGER ? `a whole number from ${least} on` : `a whole number, ${least} to ${most}`,
    isValid: (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most,
  };
}

function oneOf(...allowed: readonly string[]): Field {
  return { wanted: `one of ${allowed.join(", ")}`, isValid: (value) => allowed.some((one) => one === value) };
}

function areHeaders(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([name, one]) => {
    if (typeof one !== "string") return false;
    try {
      validateHeaderName(name);
      validateHeaderValue(name, one);
      return true;
    } catch {
      return false;
    }
  });
}
