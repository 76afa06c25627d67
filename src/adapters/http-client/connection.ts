import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { firstOf } from "../../http/headers.ts";
import { type Clock, DeadlineTimer } from "../../model/clock.ts";
import { closedCode } from "../../model/connect-failure.ts";
import type { Attempt, AttemptHolder } from "./attempt.ts";
import type { Connect, Transport } from "./connect.ts";
import { ResponseReader } from "./response-reader.ts";
import { ForeignResponse, TransportError, unframedOverTlsCode } from "./transport-error.ts";

/** How many requests are remembered: an unrequested answer comes milliseconds too late, so a few requests too late. */
const mostEarlierIds = 16;
const longestIdChars = 128;

export interface ConnectionSettings {
  readonly connect: Connect;
  /** The value of Host. */
  readonly authority: string;
  /** The most requests on one connection; absent: no limit. */
  readonly requestsPerConnection?: number | undefined;
  /** The longest head of a response. */
  readonly responseHeaderBytes?: number | undefined;
}

/** A longer head is reported, so that its memory can be charged. */
const shortHeadBytes = 16_384;

export interface ConnectionOwner {
  /** The connection is open, or its response is complete: it can take the next attempt. */
  becameIdle(connection: PooledConnection): void;
  /** The connection has ended, by this error if any; its attempt has failed. */
  hasEnded(connection: PooledConnection, error: unknown): void;
}

/**
 * One connection, with one attempt under way at most. It connects, is idle, busy, idle, … and ends: with its
 * first error, at a deadline, when it was idle for long enough, when it has carried all of its requests, or when bytes come
 * that no attempt asked for.
 *
 * attempt ─▶ one write ─▶ socket ─▶ ResponseReader ─▶ attempt: whole in one piece, or as a stream
 */
export class PooledConnection implements AttemptHolder {
  readonly #authority: string;
  readonly #clock: Clock;
  readonly #owner: ConnectionOwner;
  readonly #transport: Transport;
  readonly #reader: ResponseReader;
  /** The attempt's deadline, or that of an idle connection. */
  readonly #deadline: DeadlineTimer;
  #attempt: Attempt | undefined;
  /** On the monotonic clock; valid while the connection is idle. */
  idleSinceMs = 0;
  #remainingRequests: number;
  /** The `x-request-id` of the last requests; a new one replaces the oldest. */
  readonly #earlierIds: string[] = [];
  #nextId = 0;
  #hasEnded = false;

  constructor(settings: ConnectionSettings, clock: Clock, owner: ConnectionOwner) {
    const { connect, authority, requestsPerConnection = Number.POSITIVE_INFINITY } = settings;
    this.#authority = authority;
    this.#remainingRequests = requestsPerConnection;
    this.#clock = clock;
    this.#owner = owner;
    this.#reader = new ResponseReader(settings.responseHeaderBytes);
    this.#deadline = new DeadlineTimer(clock, () => this.#endAtDeadline());
    const onReady = (socket: Socket) => this.#becomeReady(socket);
    const onFailed = (error: unknown) => this.end(error);
    this.#transport = connect({ onReady, onFailed }, (length, bytes) => this.#read(length, bytes));
  }

  get #socket(): Socket {
    return this.#transport.socket;
  }

  /** Writes the request of the attempt; the connection must be idle. */
  send(attempt: Attempt): void {
    let message: string | Buffer;
    try {
      message = attempt.write(this.#authority, this.#remainingRequests === 1);
    } catch (error) {
      attempt.failBeforeWriting(error);
      this.#owner.becameIdle(this);
      return;
    }
    this.#remainingRequests -= 1;
    this.#attempt = attempt;
    attempt.holder = this;
    this.#reader.begin(attempt.method);
    this.#deadline.set(attempt.deadlineMs);
    this.#socket.write(message, "latin1");
  }

  /** Ends the connection, and fails its attempt. Later calls do nothing. */
  end(error: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#deadline.close();
    this.#transport.destroy();
    const attempt = this.#attempt;
    this.#attempt = undefined;
    attempt?.fail(error);
    this.#owner.hasEnded(this, error);
  }

  abandon(attempt: Attempt): void {
    if (attempt === this.#attempt) this.end(new TransportError(closedCode));
  }

  #becomeReady(socket: Socket): void {
    socket
      .on("end", () => this.#endOrderly())
      .on("error", (error) => this.end(error))
      .on("close", () => this.end(new TransportError(closedCode)));
    this.#becomeIdle(this.#reader.idleMs);
  }

  /** @returns whether to continue reading */
  #read(length: number, bytes: Buffer): boolean {
    const attempt = this.#attempt;
    const reader = this.#reader;
    if (attempt === undefined) {
      // No request is under way. Read as the next response, these bytes would answer the wrong request.
      this.end(new TransportError(closedCode));
      return false;
    }
    let piece: Buffer | undefined;
    try {
      piece = reader.read(bytes, length);
    } catch (error) {
      this.end(error);
      return false;
    }
    if (!attempt.hasResponse && reader.heldBytes > shortHeadBytes) attempt.onLongHead(reader.heldBytes);
    if (reader.phase === "head") return true;
    if (!attempt.hasResponse && this.#isOfEarlierRequest(attempt)) {
      this.end(new ForeignResponse("REQUEST_ID_OF_ANOTHER"));
      return false;
    }
    if (reader.phase === "complete") {
      this.#complete(attempt, piece);
      return true;
    }
    if (!attempt.hasResponse) this.#stream(attempt);
    const isTaken = piece === undefined || attempt.push(piece);
    if (attempt.idleMs !== undefined) this.#awaitPiece(attempt.idleMs, isTaken);
    return isTaken;
  }

  #stream(attempt: Attempt): void {
    const resume = () => {
      if (attempt !== this.#attempt) return;
      if (attempt.idleMs !== undefined) this.#awaitPiece(attempt.idleMs, true);
      this.#socket.resume();
    };
    attempt.respondStreaming(this.#reader.status, this.#reader.headers, resume);
  }

  /** @param isRead whether the reader of the response takes more; it has a time limit of its own */
  #awaitPiece(idleMs: number, isRead: boolean): void {
    if (isRead) this.#deadline.set(this.#clock.nowMs() + idleMs);
    else this.#deadline.clear();
  }

  /** If the service's answers repeat the request's id, a second answer to an earlier request is recognised. */
  #isOfEarlierRequest(attempt: Attempt): boolean {
    const id = firstOf(this.#reader.headers, "x-request-id");
    return id !== undefined && this.#earlierIds.includes(id) && !attempt.hasRequestId(id);
  }

  #remember(id: string | undefined): void {
    if (id === undefined || id.length > longestIdChars) return;
    // A copy, which V8 makes when it slices a joined text: a mere slice of a caller's head would keep the whole head.
    this.#earlierIds[this.#nextId] = ` ${id}`.slice(1);
    this.#nextId = (this.#nextId + 1) % mostEarlierIds;
  }

  #complete(attempt: Attempt, piece?: Buffer): void {
    this.#attempt = undefined;
    this.#remember(attempt.requestId);
    if (this.#socket.writableLength === 0) this.#finish(attempt, piece, true);
    // With TLS, Node reports a turn late that a request was written, and never if the connection has ended by then.
    else setImmediate(() => this.#finish(attempt, piece, this.#hasEnded || this.#socket.writableLength === 0));
  }

  /**
   * A service may refuse a request that it has not read (RFC 9112 section 9.5), and then ends the connection. An answer
   * that accepts an unread request belongs to another request.
   */
  #finish(attempt: Attempt, piece: Buffer = empty, wasWritten: boolean): void {
    const { status, headers } = this.#reader;
    const idleMs = this.#remainingRequests === 0 || !wasWritten ? 0 : this.#reader.idleMs;
    if (!wasWritten && status < 400) attempt.fail(new ForeignResponse("BEFORE_ITS_REQUEST"));
    else if (!attempt.hasResponse) attempt.respond(status, headers, piece);
    else {
      if (piece.length > 0) attempt.push(piece);
      attempt.end();
    }
    if (idleMs === 0) this.end(undefined);
    else if (!this.#hasEnded) this.#becomeIdle(idleMs);
  }

  #becomeIdle(idleMs: number): void {
    this.idleSinceMs = this.#clock.nowMs();
    this.#deadline.set(this.idleSinceMs + idleMs);
    this.#owner.becameIdle(this);
  }

  /**
   * The service has closed its side. Node reports a reset that comes together with bytes in the same way (libuv,
   * uv__stream_io), but the system distinguishes them: after a reset the socket has no remote address, after an orderly end
   * it has one. No code may read the address earlier, since Node keeps it.
   */
  #endOrderly(): void {
    const attempt = this.#attempt;
    if (this.#socket.remoteAddress === undefined) this.end(new TransportError("ECONNRESET"));
    else if (attempt === undefined || !this.#reader.finish()) this.end(new TransportError(closedCode));
    // Anyone between the two sides can end TCP. Only a closure alert proves an end (RFC 9112 section 9.8), and Node hides it.
    else if (this.#socket instanceof TLSSocket) this.end(new TransportError(unframedOverTlsCode));
    else this.#complete(attempt);
  }

  #endAtDeadline(): void {
    const attempt = this.#attempt;
    this.#attempt = undefined;
    attempt?.timeOut();
    this.end(new TransportError(closedCode));
  }
}

const empty = Buffer.alloc(0);
