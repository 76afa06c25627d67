import type { FailureCode } from "../../../../src/model/errors.ts";

/** A parameter as it must arrive. */
export type Sent = readonly [name: string, value: string];

/** How the proxy refuses a document: the status and the code of product and promises. */
export interface Refusal {
  readonly status: 400 | 413 | 422;
  readonly code: FailureCode;
}

/** One body and what must come of it. */
export interface Document {
  readonly name: string;
  readonly body: Uint8Array;
  /** A refusal, or the caller's own parameters as they arrive, in order. */
  readonly outcome: Refusal | readonly Sent[];
  /** What arrives as `site_identifier`, where that is not the site's own. */
  readonly identifier?: string;
}

export const siteIdentifier = "S1000000003";

/** Texts stand for their UTF-8, numbers for bytes. */
export function bytes(...parts: readonly (string | number)[]): Uint8Array {
  return Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from([part]))));
}

/** 400: not JSON as it travels (RFC 8259 sections 2 to 8). */
export function malformed(name: string, body: string | Uint8Array): Document {
  return refused({ status: 400, code: "body_not_json" }, name, body);
}

export function refused(outcome: Refusal, name: string, body: string | Uint8Array): Document {
  return { name, body: typeof body === "string" ? Buffer.from(body) : body, outcome };
}

/** 422: JSON, but not what may be sent. */
export function unfit(code: FailureCode, name: string, text: string): Document {
  return refused({ status: 422, code }, name, text);
}

export function taken(name: string, text: string, sent: readonly Sent[]): Document {
  return { name, body: Buffer.from(text), outcome: sent };
}

/** One parameter whose value is written like this in JSON, and how its value arrives. */
export function takenValue(written: string, arrives: string, parameter = "a"): Document {
  const name = `${parameter}: ${written.length > 80 ? `${written.slice(0, 80)}…` : written}`;
  return taken(name, `{"${parameter}":${written}}`, [[parameter, arrives]]);
}
