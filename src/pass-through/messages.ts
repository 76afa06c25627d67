import type { Duplex } from "node:stream";
import type { HeaderLines } from "../http/headers.ts";
import type { CallerRequest, UpstreamResponse } from "../serving/messages.ts";

/** A request's body, read as fast as its receiver reads. */
export interface BodyStream {
  /** Its Content-Length; undefined if it comes in chunks. */
  readonly declaredBytes: number | undefined;
  /** Whether its sender may wait for 100 Continue. */
  readonly awaitsContinue: boolean;
  /** How many bytes have been taken. Once it is more than 0, the body cannot be sent again. */
  readonly takenBytes: number;
  /** Whether the whole body has been taken. */
  readonly isRead: boolean;
  /** Sends 100 Continue if the sender waits for it. */
  writeContinue(): void;
  /**
   * @returns the bytes that have arrived since the last call; undefined if none have
   * @throws ProxyError malformed_request if the body breaks off
   */
  take(): Uint8Array | undefined;
  /** Resolves when more bytes can be taken, or when no more will come. */
  more(): Promise<void>;
}

/** A request for a handler that streams its body. */
export interface StreamingRequest extends CallerRequest {
  /** Instead of `readBody`; undefined if there is no body. */
  streamBody(): BodyStream | undefined;
  /** Sets the function that is called when the caller closes its connection, or at once if it has closed already. */
  onGone(listener: () => void): void;
  /**
   * Answers 101, and passes bytes between the caller and this connection until both are closed.
   * @param headers of the response, without the headers of the switch itself
   * @throws ProxyError malformed_request, upstream_bad_response; then nothing was answered
   */
  switchProtocol(headers: HeaderLines, upstream: Duplex, idleMs: number): Promise<TunnelResult>;
}

/** The traffic of a connection after its switch to another protocol. */
export interface TunnelResult {
  /** Bytes. */
  readonly toService: number;
  readonly toCaller: number;
  /** `closed` by either side, `broken` on the service's side, or `idle` for too long. */
  readonly end: "closed" | "broken" | "idle";
}

/** One attempt of a request whose body is passed on as it comes. */
export interface StreamedRequest {
  readonly method: string;
  /** With its query; sent unchanged. */
  readonly path: string;
  /** Without Host, framing headers, and headers for one connection. */
  readonly headers: HeaderLines;
  readonly body: BodyStream | undefined;
  /** Whether it asks for WebSocket (RFC 6455). */
  readonly upgrades: boolean;
}

/** The service's response. With status 101 the connection comes with it, and there is no body. */
export interface StreamedResponse extends UpstreamResponse {
  readonly connection?: Duplex;
}

/** The time limits of an attempt, and the means to watch and to end it. */
export interface StreamControl {
  /** The connection must be ready by then; without a body, the response's head too. On the monotonic clock. */
  readonly deadlineMs: number;
  /** How long the response's head may take after the last byte of the body. */
  readonly headMs: number;
  /** How long the request's body or the response's may pause. */
  readonly idleMs: number;
  /** Called when a connection is ready, before the first byte is written. */
  readonly onConnected: () => void;
  /** Ends the attempt at any point, with the signal's reason as the error. */
  readonly signal: AbortSignal;
}

/**
 * Sends one request once. It never resends, and it knows whether a byte was written.
 * @throws ProxyError upstream_unreachable, upstream_reset, upstream_bad_response, upstream_timeout, body_incomplete, each with its
 * outcome; after an abort, the signal's reason
 */
export type SendStream = (request: StreamedRequest, control: StreamControl) => Promise<StreamedResponse>;
