import { connectionOptions, endToEndHeaders, firstOf, type HeaderLines, isFramed, one } from "../http/headers.ts";
import type { Answer } from "../proxy/messages.ts";

export type CallbackMethod = "GET" | "POST";

/** A genuine callback on its way to the application. */
export interface ApplicationRequest {
  readonly method: CallbackMethod;
  /** The path of the application's URL, with the callback's query. */
  readonly target: string;
  readonly headers: HeaderLines;
  /** As it came in; empty for a GET. */
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
 * Gives a callback to the application, once. It never resends and never follows a redirect. The deadline, on the monotonic
 * clock, covers the connection, the head and the body of the answer.
 * @throws ProxyError application_unreachable, application_failed, application_timeout; the outcome is `unknown` once a byte
 * was written, else `not_sent`
 */
export type Deliver = (request: ApplicationRequest, deadlineMs: number) => Promise<ApplicationResponse>;

/**
 * What a callback's head tells the application. No header is signed, so only those pass that decide nothing; above all
 * none that could be taken for one of ours, such as `Countersign_Verified` is by CGI.
 */
const passed = ["accept", "user-agent", "traceparent", "tracestate"];

/**
 * The headers of a genuine callback for the application.
 * @param key K… of the key that verified it
 * @param requestId of the sender where it gave one, else ours
 */
export function deliveryHeaders(headers: HeaderLines, key: string, requestId: string): HeaderLines {
  const dropped = connectionOptions(headers);
  const kept = passed.flatMap((name) => {
    const value = firstOf(headers, name);
    return value === undefined || dropped.includes(name) ? [] : [name, value];
  });
  // The body was read by it, so the application reads it so too, whatever Connection says.
  const type = one(headers, "content-type");
  if (type !== undefined) kept.unshift("content-type", type);
  return [...kept, "x-request-id", requestId, "Countersign-Verified", key];
}

/** The body is whole, so its length is known. */
const ownLength: ReadonlySet<string> = new Set(["content-length"]);

/** The application's answer as the service gets it: status and body untouched, our identification added. */
export async function applicationReply(response: ApplicationResponse, requestId: string): Promise<Answer> {
  const { status } = response;
  const body = await response.body;
  const headers = endToEndHeaders(response.headers, ownLength);
  if (!isFramed({ status, headers })) headers.push("Content-Length", String(body.length));
  return { status, headers: [...headers, ...identify(requestId)], body, isLocal: false, isFramed: true };
}

/** What the sender had no answer to, the application has taken: it gets the status now. No body is kept. */
export function repetitionReply(status: number, requestId: string): Answer {
  const headers = status === 204 ? [] : ["Content-Length", "0"];
  const body = new Uint8Array();
  return { status, headers: [...headers, ...identify(requestId)], body, isLocal: true, isFramed: true };
}

function identify(requestId: string): string[] {
  return ["Countersign-Request-Id", requestId, "Countersign-Outcome", "answered"];
}
