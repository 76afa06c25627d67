import type { HeaderLines } from "../http/headers.ts";
import type { AuthMethod, Environment, Site } from "../model/environment.ts";
import type { ProxyError } from "../model/errors.ts";
import type { RequestFinished } from "../model/events.ts";
import type { SentParameter } from "../signing/signature.ts";
import type { CallerRegistry } from "./caller-registry.ts";

/** What a request arrived on. */
export interface ListenerContext {
  readonly environment: Environment;
  /**
   * Host names accepted in origin-form, lower case, without port. `any` on a Unix socket: it has no name, callers make one
   * up, and no web page can reach it by rebinding one.
   */
  readonly hosts: ReadonlySet<string> | "any";
  /** A caller has to be one of these; absent where callers have no names. */
  readonly callers?: CallerRegistry | undefined;
  /** How callers reach it, for messages: `http://127.0.0.1:7411` or `unix:/run/…`. */
  readonly url: string;
  /** Where it listens as configured, for the log. */
  readonly listener?: string;
}

/** The other end of a connection. What the log shows of it is printable and bounded. */
export interface Peer {
  /** Its IP address; undefined over a Unix socket. */
  readonly address: string | undefined;
  /** The subject of its certificate, where the listener asks for one. */
  readonly subject: string | undefined;
  /** The names of its certificate, as in `certificateNames`; the authority decides how long they are. */
  readonly certificateNames?: readonly string[];
}

/** Gives memory to a body that is being read, and to what waits on a connection. */
export interface BodyBuffer {
  /**
   * Reserves so many bytes in all: the declared length before reading, or what is kept of what has come.
   * @throws ProxyError overloaded; body_too_large where it would never fit
   */
  reserve(totalBytes: number): void;
  /** Called with ProxyError overloaded when it is slow and others need its memory. */
  onEvicted: (error: ProxyError) => void;
}

/** Gives memory to what waits on a connection: heads and whatever is behind a request. `close` gives it back. */
export interface Buffers {
  open(peer: Peer): BodyBuffer & { close(): void };
}

/** A request as it came in: its head, the body on demand, whether its caller is still connected, and how to answer it. */
export interface CallerRequest {
  /** Empty, like the target, where the head could not be read. */
  readonly method: string;
  /** The request target exactly as on the request line. */
  readonly target: string;
  readonly headers: HeaderLines;
  /** The memory that its head takes. */
  readonly headBytes: number;
  readonly peer?: Peer;
  /** Whether the caller closed its connection before it had its answer. */
  isClosed(): boolean;
  /** The status whose head has gone out already, if any. */
  answeredStatus(): number | undefined;
  /**
   * Gives the caller its answer. Resolves when it was delivered or the caller has closed.
   * @returns undefined where that was done in one go
   * @param deadlineMs on the monotonic clock; the connection of a caller that has not read its answer by then is reset
   * @throws what the body throws, and ProxyError upstream_timeout at the deadline, after the caller's connection was
   * reset: it must not accept a part as the whole; ProxyError upstream_bad_response when the head cannot be written
   */
  answer(answer: Answer, deadlineMs: number): Promise<void> | undefined;
  /**
   * Reads the whole body, within the deadline on the monotonic clock.
   * @returns the bytes themselves where they have come with the head
   * @throws ProxyError body_too_large, request_timeout, malformed_request, and what the buffer throws
   */
  readBody(deadlineMs: number, buffer: BodyBuffer): Uint8Array | Promise<Uint8Array>;
}

/** The caller closed its connection before anything was sent, so nothing will be. There is no connection to answer on. */
export class CallerLeft extends Error {
  override readonly name = "CallerLeft";
}

/** The one event that sums up a request, while it is being filled in. */
export type AccessEvent = { -readonly [Name in keyof RequestFinished]: RequestFinished[Name] };

/** The site that the request is for and how it will be authenticated. */
export interface Route {
  readonly environment: Environment;
  /** Checked segments, e.g. `create_order`. */
  readonly operation: string;
  readonly site: Site;
  readonly auth: AuthMethod;
  /** Whether it is signed where no token can be had: its site has `bridge`, and its caller asked for no method. */
  readonly isBridged?: boolean;
  /** K… that the caller named. */
  readonly key: string | undefined;
  /** What is sent as `site_identifier`. */
  readonly identifier: string;
}

/** Complete but for the timestamp and the signature, which belong to one attempt. */
export interface PreparedRequest {
  readonly route: Route;
  readonly headers: HeaderLines;
  /** In the order they are sent, each name once. */
  readonly parameters: readonly SentParameter[];
}

/** One attempt, ready to be written. */
export interface UpstreamRequest {
  /** Base path and operation, e.g. `/json-api/create_order`. */
  readonly path: string;
  readonly headers: HeaderLines;
  /**
   * The body, stamped and signed for this second. It always has the same length in UTF-8, so it can be made again after a
   * slow connection.
   */
  readonly render: () => string;
}

/** A response of the service, its head complete. */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: HeaderLines;
  /**
   * Whole, where it came in one piece with its head. Else it still streams, and throws ProxyError upstream_reset,
   * upstream_bad_response or upstream_timeout when it is cut short.
   */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  /** What is left of the body will not be read: ends its connection, unless it is complete. Harmless afterwards. */
  discard(): void;
}

/**
 * Sends one request once. It never resends, and it knows whether a byte was written. The deadline, on the monotonic
 * clock, covers the connection, the head and the body of the response.
 * `onConnected` is called when a connection is ready, before the first byte is written.
 * @throws ProxyError upstream_unreachable, upstream_reset, upstream_bad_response, upstream_timeout, each with its
 * outcome: `unknown` once a byte was written, else `not_sent`
 */
export type Send = (
  upstreamRequest: UpstreamRequest,
  deadlineMs: number,
  onConnected: () => void,
) => Promise<UpstreamResponse>;

/** What the caller gets: the service's response, or one of our own. */
export interface Answer {
  readonly status: number;
  readonly headers: HeaderLines;
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  /** One of our own, whose body is whole: it gets a Date. */
  readonly isLocal: boolean;
  /** False when nothing but the close of the service's connection ended the body (RFC 9112 section 8). */
  readonly isFramed: boolean;
  /**
   * The body may have no end. The caller has this long to take each piece; when the caller has closed, no more is read.
   */
  readonly idleMs?: number | undefined;
  /** Ends it in the middle, with its reason as the error, also while the caller reads nothing. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called when the caller does not read the body as fast as it comes.
   * @param cutOff ends the response in the middle
   * @returns called when the caller has taken what was written
   */
  readonly onSlowReader?: (cutOff: (error: ProxyError) => void) => (() => void) | undefined;
}

/** Records what requests do as spans. Absent where tracing is not configured. It never throws and never waits. */
export interface Tracer {
  /**
   * Begins the span of a request, and tells its event the trace.
   * @param headers of the request
   */
  start(headers: HeaderLines, event: AccessEvent, listener: ListenerContext): RequestTrace;
}

/** The spans of one request. */
export interface RequestTrace {
  /** Sends as the one given does, with `traceparent`, and a span for whatever was written. */
  traced(send: Send): Send;
  /** The request begins to wait for a token, which is not in memory. */
  beginTokenWait(): void;
  /** The request has its token, or gets none. May be called where it did not wait. */
  endTokenWait(): void;
  /** The request has ended, and its event is complete. */
  end(): void;
}
