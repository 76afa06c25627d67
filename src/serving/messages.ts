import type { HeaderLines } from "../http/headers.ts";
import type { AuthMethod, Environment, Site } from "../model/environment.ts";
import type { FailureCode, Outcome, ProxyError } from "../model/errors.ts";
import type { OnceResult, RequestFinished, TokenOutage } from "../model/events.ts";
import type { Token, TokenSource } from "../oauth/token.ts";
import type { SentParameter } from "../parameters/signature.ts";
import type { CallerRegistry } from "./caller-registry.ts";

/** The listener on which a request arrived. */
export interface ListenerContext {
  readonly environment: Environment;
  /** All that are configured, for hints. */
  readonly environments?: ReadonlyMap<string, Environment>;
  /**
   * Host names accepted in origin-form, lower case, without port. `any` on a Unix socket: callers make up
   * its name, and no web page can reach it by DNS rebinding.
   */
  readonly hosts: ReadonlySet<string> | "any";
  /** Every caller must be one of these; absent if callers have no names. */
  readonly callers?: CallerRegistry | undefined;
  /** The address for callers, as messages show it: `http://127.0.0.1:7411` or `unix:/run/…`. */
  readonly url: string;
  /** The configured address, for the log. */
  readonly listener?: string;
}

/** The other end of a connection. The fields that the log shows are printable and bounded. */
export interface Peer {
  /** Its IP address; undefined over a Unix socket. */
  readonly address: string | undefined;
  /** The subject of its certificate, if the listener demands one. */
  readonly subject: string | undefined;
  /** The names of its certificate, as in `certificateNames`; their length is not limited. */
  readonly certificateNames?: readonly string[];
}

/** Reserves memory for a body that is being read, or for bytes that wait on a connection. */
export interface BodyBuffer {
  /**
   * Raises the reservation to this total: the declared length before reading, or the bytes that have come and are kept.
   * @throws ProxyError overloaded; body_too_large if the total would never fit
   */
  reserve(totalBytes: number): void;
  /** Called with ProxyError overloaded if the body is slow and other requests need its memory. */
  onEvicted: (error: ProxyError) => void;
}

/** Reserves memory for bytes that wait on a connection: heads, and bytes that follow a request. `close` frees it. */
export interface Buffers {
  open(peer: Peer): BodyBuffer & { close(): void };
}

/** A request as it came in: its head, the body on demand, whether its caller is still connected, and how to answer it. */
export interface CallerRequest {
  /** Empty, like the target, if the head could not be read. */
  readonly method: string;
  /** The request target exactly as on the request line. */
  readonly target: string;
  readonly headers: HeaderLines;
  /** The memory that the head uses. */
  readonly headBytes: number;
  readonly peer?: Peer;
  /** Whether the caller closed its connection before it had its answer. */
  isClosed(): boolean;
  /** The status of the answer, if its head was already sent. */
  answeredStatus(): number | undefined;
  /**
   * Sends the answer to the caller. Resolves when the answer was delivered or the caller has closed its connection.
   * @returns undefined if the answer was delivered at once
   * @param deadlineMs on the monotonic clock; the connection of a caller that has not read its answer by then is reset
   * @throws the body's errors, and ProxyError upstream_timeout at the deadline, after the caller's connection was reset:
   * the caller must not take a part for the whole; ProxyError upstream_bad_response if the head cannot be written
   */
  answer(answer: Answer, deadlineMs: number): Promise<void> | undefined;
  /**
   * Reads the whole body, within the deadline on the monotonic clock.
   * @returns the bytes, without a promise, if they came with the head
   * @throws ProxyError body_too_large, request_timeout, malformed_request, and the errors of `buffer`
   */
  readBody(deadlineMs: number, buffer: BodyBuffer): Uint8Array | Promise<Uint8Array>;
}

/** The caller closed its connection, so nothing more is sent, and there is no connection to answer on. */
export class CallerLeft extends Error {
  override readonly name = "CallerLeft";
}

/** The one event that sums up a request, while it is being filled in. */
export type AccessEvent = { -readonly [Name in keyof RequestFinished]: RequestFinished[Name] };

/** The operation and the site that the request is for. */
export interface Route {
  readonly environment: Environment;
  /** Checked segments, e.g. `create_order`. */
  readonly operation: string;
  readonly site: Site;
  /** K… that the caller named. */
  readonly key: string | undefined;
}

/** What a scheme authenticates. Requests of pass-through routes have no parameters. */
export interface Unauthenticated {
  readonly route: Pick<Route, "environment" | "site" | "key">;
  readonly parameters: readonly SentParameter[];
}

/** What an attempt is authenticated with: the key that signs it, or the token that it carries. */
export interface AuthMaterial {
  readonly auth: AuthMethod;
  /** Why the request is signed instead of carrying a token: its site has `bridge: hmac`. */
  readonly bridged?: TokenOutage;
  /** K… of the key. */
  readonly key?: string;
  /** `<site>/<name>` of the set that the token was issued for. */
  readonly credential?: string;
  /** The value of `site_identifier`. */
  readonly identifier: string;
  /** Header lines that are added. */
  readonly headers: HeaderLines;
  /** Adds the signature, if there is one, to parameters that are otherwise complete. */
  readonly sign: (parameters: readonly SentParameter[]) => readonly SentParameter[];
  /** The token, and where a newer one comes from: after a 401 the request may be sent again with that one. */
  readonly bearer?: { readonly token: Token; readonly source: TokenSource };
}

/** One attempt, ready to be written. */
export interface UpstreamRequest {
  /** Base path and operation, e.g. `/json-api/create_order`. */
  readonly path: string;
  readonly headers: HeaderLines;
  /**
   * Builds the body with a timestamp of this second and, with HMAC, a signature. Its length in UTF-8 is always the same, so
   * it can be built again after a slow connection.
   */
  readonly render: () => string;
}

/** A response of the service, its head complete. */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: HeaderLines;
  /**
   * Whole, if it came in one piece with the head. Else a stream, which throws ProxyError upstream_reset,
   * upstream_bad_response or upstream_timeout if it is cut short.
   */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  /** Gives up the rest of the body: closes the connection, unless the body is complete. May be called twice. */
  discard(): void;
}

/**
 * Sends one request once. It never resends, and it knows whether a byte was written. The deadline, on the monotonic
 * clock, covers the connection, the head and the body of the response.
 * `onConnected` is called when a connection is ready, before the first byte is written; if it throws, nothing is written.
 * `onLongHead` is called while a long head of the response arrives, with the memory that the head takes.
 * @throws ProxyError upstream_unreachable, upstream_reset, upstream_bad_response, upstream_timeout, each with its
 * outcome: `unknown` once a byte was written, else `not_sent`
 */
export type Send = (
  upstreamRequest: UpstreamRequest,
  deadlineMs: number,
  onConnected: () => void,
  onLongHead?: (bytes: number) => void,
) => Promise<UpstreamResponse>;

/** The answer to the caller: the service's response, or an answer of our own. */
export interface Answer {
  readonly status: number;
  readonly headers: HeaderLines;
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  /** Whether it is an answer of our own: its body is whole, and a Date is added. */
  readonly isLocal: boolean;
  /** False when nothing but the close of the service's connection ended the body (RFC 9112 section 8). */
  readonly isFramed: boolean;
  /**
   * Given if the body may have no end. The caller has this long to read each piece; nothing is read after the caller closed.
   */
  readonly idleMs?: number | undefined;
  /** Aborting cuts the answer off, even if the caller reads nothing; writing it then fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called when the caller reads the body more slowly than it comes.
   * @param cutOff cuts the answer off
   * @returns to be called when the caller has read everything that was written
   */
  readonly onSlowReader?: (cutOff: (error: ProxyError) => void) => (() => void) | undefined;
}

/** An answer whose body is not streamed. */
export interface WholeAnswer extends Answer {
  readonly body: Uint8Array;
}

/** How a request ended. */
export interface RequestEnd {
  readonly outcome: Outcome;
  /** The service's status, if it answered. */
  readonly status?: number | undefined;
  /** If the outcome is `unknown`: why. */
  readonly why?: UnknownWhy | undefined;
}

/** A failure's code, or: the status is `undecided`; the caller left; the end of the request was not recorded. */
export type UnknownWhy = FailureCode | "undecided" | "caller_left" | "unrecorded";

/** Reserves memory for an answer that is kept. */
export interface AnswerBuffer {
  chargeAnswer(bytes: number): void;
}

/** Records how the request ended under the key that its caller gave (Countersign-Once). */
export interface OnceRecord {
  /** Of its claim in the store, and what the answer is sealed under. */
  readonly name: string;
  /** Undefined until an end is recorded. */
  readonly result: OnceResult | undefined;
  /** Id of the first request with this key. */
  readonly first: string | undefined;
  /** @returns the answer to deliver: one that is not whole yet is recorded when its end has come */
  recordAnswer(answer: Answer, outcome: Outcome, buffer: AnswerBuffer | undefined): Promise<Answer>;
  recordEnd(end: RequestEnd): Promise<void>;
}

/** The functions that a listener calls. They never reject: every failure is answered, counted and logged. */
export interface RequestHandler<Request = CallerRequest> {
  readonly handle: (request: Request) => Promise<void>;
  /** Answers a request that the listener itself had to refuse. An error that is no ProxyError is a defect, and reported. */
  readonly refuse: (request: Request, error: Error) => Promise<void>;
}

/** Records requests as spans. Absent if tracing is not configured. It never throws and never waits. */
export interface Tracer {
  /**
   * Begins the span of a request, and writes the trace's id into its event.
   * @param headers of the request
   */
  start(headers: HeaderLines, event: AccessEvent, listener: ListenerContext): RequestTrace;
}

/** The spans of one request. */
export interface RequestTrace {
  /** Wraps `send`: adds `traceparent`, and records a span for each request that was written. */
  traced(send: Send): Send;
  /** The request begins to wait for a token that is not in memory. */
  beginTokenWait(): void;
  /** The request has its token, or will get none. Harmless if the request did not wait. */
  endTokenWait(): void;
  /** The request has ended, and its event is complete. */
  end(): void;
}
