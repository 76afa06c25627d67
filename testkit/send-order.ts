import type { IncomingHttpHeaders } from "node:http";
import type { Pool } from "undici";

/** An order to send. */
export interface Letter {
  readonly reference: string;
  readonly site: string;
  /** Time after which the caller leaves, if it does. */
  readonly leavesAfterMs?: number | undefined;
}

/** What the caller learns about its order. */
export type Told =
  /** The service's own answer, complete; a 5xx leaves the order's outcome unknown. */
  | { readonly kind: "answered"; readonly status: number; readonly outcome: string; readonly attempts: number }
  /** A failure answer of Countersign. */
  | {
      readonly kind: "failed";
      readonly status: number;
      readonly code: string;
      readonly outcome: string;
      readonly attempts: number;
    }
  /** The head of an answer came, but not its end. */
  | { readonly kind: "cut" }
  /** The caller did not wait for the answer. */
  | { readonly kind: "left" }
  /** No answer at all, or an answer that does not belong to this order. */
  | { readonly kind: "broken"; readonly why: string };

export interface Answer {
  readonly told: Told;
  readonly requestId: string | undefined;
  /** The replica has announced that it closes this connection. */
  readonly isClosing: boolean;
  /** The connection was refused, so that another replica can take the order. */
  readonly isRefused: boolean;
}

/** Longer than the replica's own deadline, so that the replica decides how a request ends. */
const timeoutMs = 30_000;

/** Sends one order; never rejects. */
export async function sendOrder(pool: Pool, { reference, site, leavesAfterMs }: Letter): Promise<Answer> {
  const leaving = new AbortController();
  const timer = leavesAfterMs === undefined ? undefined : setTimeout(() => leaving.abort(), leavesAfterMs);
  let head: Omit<Answer, "told"> | undefined;
  try {
    const {
      statusCode: status,
      headers,
      body,
    } = await pool.request({
      method: "POST",
      path: "/create_order",
      headers: { "content-type": "application/json", "countersign-site": site, "countersign-reference": reference },
      body: JSON.stringify({ order_amount: "10.00", order_currency: "EUR", order_reference: reference }),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      signal: leaving.signal,
    });
    const requestId = headers["countersign-request-id"];
    head = {
      requestId: typeof requestId === "string" ? requestId : undefined,
      isClosing: headers["connection"] === "close",
      isRefused: false,
    };
    return { ...head, told: readAnswer(status, headers, await body.text(), reference) };
  } catch (error) {
    const why = describe(error);
    const nothing = { requestId: head?.requestId, isClosing: false, isRefused: false };
    if (leaving.signal.aborted) return { ...nothing, told: { kind: "left" } };
    if (head !== undefined) return { ...head, told: { kind: "cut" } };
    return { ...nothing, isRefused: why === "ECONNREFUSED", told: { kind: "broken", why } };
  } finally {
    clearTimeout(timer);
  }
}

function readAnswer(status: number, headers: IncomingHttpHeaders, text: string, reference: string): Told {
  const attempts = Number(headers["countersign-attempts"] ?? 1);
  const { "countersign-error": code, "countersign-outcome": outcome } = headers;
  if (typeof code === "string") return { kind: "failed", status, code, outcome: String(outcome), attempts };
  // The simulated service returns the reference that it received: so an answer to another order is recognised.
  if (status === 200 && !text.includes(`"${reference}"`)) return { kind: "broken", why: "the answer to another order" };
  return { kind: "answered", status, outcome: String(outcome), attempts };
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
}

/** A failure in a few words; undefined for an order that was created, and for a caller that left. */
export function labelOf(told: Told): string | undefined {
  switch (told.kind) {
    case "answered":
      return told.status === 200 ? undefined : `service ${told.status}${told.attempts === 2 ? " twice" : ""}`;
    case "failed":
      return `${told.code} ${told.outcome}`;
    case "cut":
      return "cut unknown";
    case "left":
      return undefined;
    case "broken":
      return `no answer (${told.why})`;
  }
}
