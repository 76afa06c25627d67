import type { HeaderLines } from "../http/headers.ts";

/** Those that the service calls with. */
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
