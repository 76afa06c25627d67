import type { IncomingHttpHeaders } from "node:http";
import type { Pool } from "undici";
import type { Told } from "./order.ts";

/** One order on its way. */
export interface Letter {
  readonly reference: string;
  readonly site: string;
  /** After how long the caller goes away, if at all. */
  readonly leavesAfterMs: number | undefined;
}

export interface Answer {
  readonly told: Told;
  readonly requestId: string | undefined;
  /** The replica has said that this connection is the last that it serves. */
  readonly isClosing: boolean;
}

/** Beyond the replica's own deadline, so that it is the replica that says how a request ended. */
const timeoutMs = 30_000;

/**
 * Sends one order.
 * @returns undefined when the connection was refused, so that the order can be given to another replica
 */
export async function send(pool: Pool, { reference, site, leavesAfterMs }: Letter): Promise<Answer | undefined> {
  const leaving = new AbortController();
  const timer = leavesAfterMs === undefined ? undefined : setTimeout(() => leaving.abort(), leavesAfterMs);
  let head: (Omit<Answer, "told"> & { readonly headers: IncomingHttpHeaders; readonly status: number }) | undefined;
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
      headers,
      status,
      requestId: typeof requestId === "string" ? requestId : undefined,
      isClosing: headers["connection"] === "close",
    };
    const text = await body.text();
    return { ...head, told: readAnswer(status, headers, text, reference) };
  } catch (error) {
    if (leaving.signal.aborted) return { told: { kind: "left" }, requestId: head?.requestId, isClosing: false };
    if (head !== undefined) return { ...head, told: { kind: "cut" } };
    const why = describe(error);
    if (why === "ECONNREFUSED") return undefined;
    return { told: { kind: "broken", why }, requestId: undefined, isClosing: false };
  } finally {
    clearTimeout(timer);
  }
}

function readAnswer(status: number, headers: IncomingHttpHeaders, text: string, reference: string): Told {
  const attempts = Number(headers["countersign-attempts"] ?? 1);
  const { "countersign-error": code, "countersign-outcome": outcome } = headers;
  if (typeof code === "string") return { kind: "failed", status, code, outcome: String(outcome), attempts };
  // The simulated service repeats what it has received: this is how an answer that belongs to another shows.
  if (status === 200 && !text.includes(`"${reference}"`)) return { kind: "broken", why: "the answer to another order" };
  return { kind: "answered", status, attempts };
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
}
