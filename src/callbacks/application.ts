import {
  connectionOptions,
  endToEndHeaders,
  firstOf,
  type HeaderLines,
  isCoded,
  isFramed,
  one,
} from "../http/headers.ts";
import { ProxyError } from "../model/errors.ts";
import type { WholeAnswer } from "../serving/messages.ts";

export type CallbackMethod = "GET" | "POST";

/** A genuine callback, as it is sent to the application. */
export interface ApplicationRequest {
  readonly method: CallbackMethod;
  /** The path of the application's URL, with the callback's query. */
  readonly target: string;
  readonly headers: HeaderLines;
  /** As received; empty for a GET. */
  readonly body: Uint8Array;
}

/** The application's answer, its head complete. */
export interface ApplicationResponse {
  readonly status: number;
  readonly headers: HeaderLines;
  /** @throws ProxyError application_failed, application_timeout */
  readonly body: Promise<Uint8Array>;
}

/**
 * Sends a callback to the application, once. It never resends and never follows a redirect. The deadline, on the monotonic
 * clock, covers the connection, the head and the body of the answer.
 * @throws ProxyError application_unreachable, application_failed, application_timeout; the outcome is `unknown` once a byte
 * was written, else `not_sent`
 */
export type Deliver = (request: ApplicationRequest, deadlineMs: number) => Promise<ApplicationResponse>;

/**
 * The callback's headers that the application gets. No header is signed, so only harmless headers pass; above all none
 * that could be taken for ours: CGI cannot tell `Countersign_Verified` from Countersign-Verified.
 */
const passed = ["accept", "user-agent", "traceparent", "tracestate"];

/**
 * The headers of a genuine callback for the application.
 * @param key K… of the key that verified it
 * @param requestId the sender's id if it gave one, else ours
 */
export function deliveryHeaders(headers: HeaderLines, key: string, requestId: string): HeaderLines {
  const dropped = connectionOptions(headers);
  const kept = passed.flatMap((name) => {
    const value = firstOf(headers, name);
    return value === undefined || dropped.includes(name) ? [] : [name, value];
  });
  // The body was read as this type, so the application must read it as the same type, whatever Connection says.
  const type = one(headers, "content-type");
  if (type !== undefined) kept.unshift("content-type", type);
  return [...kept, "x-request-id", requestId, "Countersign-Verified", key];
}

/** Dropped, because the body is whole and its real length is set. */
const ownLength: ReadonlySet<string> = new Set(["content-length"]);

/**
 * The application's answer as the service gets it: status and body unchanged, our headers added.
 * @throws ProxyError application_failed for a transfer coding: the service would not see its header
 */
export async function applicationReply(response: ApplicationResponse, requestId: string): Promise<WholeAnswer> {
  const { status } = response;
  if (isCoded(response.headers)) {
    const what = "The application's answer is in transfer codings that nobody asked for.";
    throw new ProxyError("application_failed", what, { causedBy: "Transfer-Encoding" });
  }
  const body = await response.body;
  const headers = endToEndHeaders(response.headers, ownLength);
  if (!isFramed({ status, headers })) headers.push("Content-Length", String(body.length));
  return { status, headers: [...headers, ...identify(requestId)], body, isLocal: false, isFramed: true };
}

/** The answer to a repetition of a callback that the application has accepted: the same status, without a body. */
export function repetitionReply(status: number, requestId: string): WholeAnswer {
  const headers = status === 204 ? [] : ["Content-Length", "0"];
  const body = new Uint8Array();
  return { status, headers: [...headers, ...identify(requestId)], body, isLocal: true, isFramed: true };
}

function identify(requestId: string): string[] {
  return ["Countersign-Request-Id", requestId, "Countersign-Outcome", "answered"];
}
