import type { Duplex } from "node:stream";
import type { HeaderLines } from "../http/headers.ts";
import type { CallerRequest, UpstreamResponse } from "../proxy/messages.ts";

/** A request's body, taken at the pace of whatever it is passed on to. */
export interface BodyStream {
  /** Its Content-Length; undefined where it comes in chunks. */
  readonly declaredBytes: number | undefined;
  /** Its sender may wait for 100 Continue. */
  readonly awaitsContinue: boolean;
  /** How many bytes have been taken. From the first one on, the body cannot be sent again. */
  readonly takenBytes: number;
  /** All of it has been taken. */
  readonly isRead: boolean;
  /** Sends 100 Continue if the sender waits for it. */
  invite(): void;
  /**
   * @returns the bytes that have arrived since the last call; undefined where none have
   * @throws ProxyError malformed_request where the body breaks off
   */
  take(): Uint8Array | undefined;
  /** Resolves when there is more to take, or will never be. */
  more(): Promise<void>;
}

/** A request as a listener gives it, for a handler that reads no body. */
export interface StreamingRequest extends CallerRequest {
  /** Instead of `readBody`; undefined where there is none. */
  streamBody(): BodyStream | undefined;
  /** Tells when the caller closes while the request is served, or has closed already. */
  onGone(listener: () => void): void;
  /**
   * Answers 101, and passes bytes between the caller and this connection until both are closed.
   * @param headers of the response, without those of the switch itself
   * @throws ProxyError malformed_request, upstream_bad_response; then nothing was answered
   */
  switchProtocol(headers: HeaderLines, upstream: Duplex, idleMs: number): Promise<Passage>;
}

/** What a connection carried after it had switched to another protocol. */
export interface Passage {
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
  /** Without Host, framing and what belongs to one connection. */
  readonly headers: HeaderLines;
  readonly body: BodyStream | undefined;
  /** It asks for WebSocket (RFC 6455). */
  readonly upgrades: boolean;
}

/** The service's response. With status 101 the connection comes with it, and there is no body. */
export interface StreamedResponse extends UpstreamResponse {
  readonly connection?: Duplex;
}

/** How long what may take, what the sender of an attempt is told, and how it ends the attempt. */
export interface StreamControl {
  /** On the monotonic clock: until when a connection must be ready; without a body, also the response's head there. */
  readonly deadlineMs: number;
  /** How long the response's head may take after the last byte of the body. */
  readonly headMs: number;
  /** How long either body may stand still. */
  readonly idleMs: number;
  /** Called when a connection is ready, before the first byte is written. */
  readonly onConnected: () => void;
  /** Ends the attempt with its reason as the error, whatever it has come to. */
  readonly signal: AbortSignal;
}

/**
 * Sends one request once. It never resends, and it knows whether a byte was written.
 * @throws ProxyError upstream_unreachable, upstream_reset, upstream_bad_response, upstream_timeout, body_incomplete, each with its
 * outcome; and what the signal gives as its reason
 */
export type SendStream = (request: StreamedRequest, control: StreamControl) => Promise<StreamedResponse>;
