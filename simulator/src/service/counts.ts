import type { Delivery } from "./answer.ts";

/** Totals since the start. `apiRequests = accepted + unauthorized + refused + replaced`, at any time. */
export interface Counts {
  /** Requests to the JSON API that arrived completely. */
  readonly apiRequests: number;
  /** Orders created, even if the answer was cut. */
  readonly accepted: number;
  /** Judged 401: no good token (spec 7). */
  readonly unauthorized: number;
  /** Refused with a status other than 401. */
  readonly refused: number;
  /** Correct calls to which a fault answered instead of the service. */
  readonly replaced: number;
  /** Status lines that the JSON API wrote. */
  readonly apiAnswers: Readonly<Record<string, number>>;
  /** Answers of the JSON API that a fault broke off. */
  readonly cut: number;
  /** Answers of the JSON API that the client did not wait for. */
  readonly abandoned: number;
  /** Requests to the authorization server that arrived completely. */
  readonly tokenRequests: number;
  readonly tokensIssued: number;
  /** Status lines that the authorization server wrote. */
  readonly loginAnswers: Readonly<Record<string, number>>;
  /** Requests to either host that were not read to their end. */
  readonly incomplete: number;
  /** Connections to either host that did not speak HTTP/1.1. */
  readonly malformed: number;
  /** Connections accepted, those of the control endpoint included. */
  readonly apiConnections: number;
  readonly loginConnections: number;
}

/** The running totals of one host. */
export interface Totals {
  accepted: number;
  unauthorized: number;
  refused: number;
  replaced: number;
  incomplete: number;
  cut: number;
  abandoned: number;
  readonly answers: Map<number, number>;
}

export function createTotals(): Totals {
  const answers = new Map<number, number>();
  return { accepted: 0, unauthorized: 0, refused: 0, replaced: 0, incomplete: 0, cut: 0, abandoned: 0, answers };
}

export function countDelivery(totals: Totals, { status, ending }: Delivery): void {
  if (status !== undefined) totals.answers.set(status, (totals.answers.get(status) ?? 0) + 1);
  if (ending !== "answered") totals[ending] += 1;
}
