import type { Socket } from "node:net";
import { type Clock, DeadlineTimer } from "../../model/clock.ts";
import type { Attempt, BodySource } from "./attempt.ts";
import type { Connect } from "./connect.ts";
import { ResponseReader } from "./response-reader.ts";
import type { Transport } from "./transport.ts";
import { closedCode, TransportError } from "./transport-error.ts";

/** How connections to one host are made. */
export interface ConnectionSettings {
  readonly connect: Connect;
  /** The value of Host. */
  readonly authority: string;
}

/** Who uses a connection. */
export interface ConnectionOwner {
  /** It is connected, or its response is complete: it takes the next attempt. */
  becameIdle(connection: Connection): void;
  /** It has ended, by this error if any; what was under way on it has failed. */
  hasEnded(connection: Connection, error: unknown): void;
}

/**
 * One connection, with one attempt under way at most. It connects, is idle, busy, idle, … and ends: with its
 * first error, at a deadline, when it was idle for long enough, or when bytes come that no attempt asked for.
 *
 * attempt ─▶ one write ─▶ socket ─▶ ResponseReader ─▶ attempt: whole in one piece, or as a stream
 */
export class Connection implements BodySource {
  readonly #authority: string;
  readonly #clock: Clock;
  readonly #owner: ConnectionOwner;
  readonly #transport: Transport;
  readonly #reader = new ResponseReader();
  /** Of the attempt under way, or of the idleness: they follow each other. */
  readonly #deadline: DeadlineTimer;
  #attempt: Attempt | undefined;
  #hasEnded = false;

  constructor({ connect, authority }: ConnectionSettings, clock: Clock, owner: ConnectionOwner) {
    this.#authority = authority;
    this.#clock = clock;
    this.#owner = owner;
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
      message = attempt.write(this.#authority);
    } catch (error) {
      attempt.failBeforeWriting(error);
      this.#owner.becameIdle(this);
      return;
    }
    this.#attempt = attempt;
    this.#reader.begin();
    this.#deadline.set(attempt.deadlineMs);
    this.#socket.write(message, "latin1");
  }

  /** Ends it, and fails what is under way on it. Harmless afterwards. */
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

  resume(attempt: Attempt): void {
    if (attempt === this.#attempt) this.#socket.resume();
  }

  abandon(attempt: Attempt): void {
    if (attempt !== this.#attempt) return;
    this.#attempt = undefined;
    this.end(new TransportError(closedCode));
  }

  #becomeReady(socket: Socket): void {
    socket
      .on("end", () => this.#endOrderly())
      .on("error", (error) => this.end(error))
      .on("close", () => this.end(new TransportError(closedCode)));
    this.#becomeIdle(this.#reader.idleMs);
  }

  /** @returns whether to read on */
  #read(length: number, bytes: Buffer): boolean {
    const attempt = this.#attempt;
    const reader = this.#reader;
    if (attempt === undefined) {
      // Nothing was asked. Taken for the next response, it would be another request's.
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
    if (reader.phase === "head") return true;
    if (reader.phase === "complete") {
      this.#complete(attempt, piece);
      return true;
    }
    if (!attempt.hasResponse) attempt.respondStreaming(reader.status, reader.headers, this);
    return piece === undefined || attempt.push(piece);
  }

  #complete(attempt: Attempt, piece: Buffer = empty): void {
    const { status, headers } = this.#reader;
    const idleMs = attempt.isLast ? 0 : this.#reader.idleMs;
    this.#attempt = undefined;
    if (!attempt.hasResponse) attempt.respond(status, headers, piece);
    else {
      if (piece.length > 0) attempt.push(piece);
      attempt.end();
    }
    if (idleMs === 0) this.end(undefined);
    else if (this.#socket.writableLength === 0) this.#becomeIdle(idleMs);
    // With TLS, Node tells a turn late that a request was written.
    else setImmediate(() => this.#becomeIdleIfWritten(idleMs));
  }

  /** A response that came before the request was written in full leaves a connection in an unknown state. */
  #becomeIdleIfWritten(idleMs: number): void {
    if (this.#hasEnded) return;
    if (this.#socket.writableLength > 0) this.end(undefined);
    else this.#becomeIdle(idleMs);
  }

  #becomeIdle(idleMs: number): void {
    this.#deadline.set(this.#clock.nowMs() + idleMs);
    this.#owner.becameIdle(this);
  }

  /**
   * The service has sent its last byte. Node reports a reset that comes together with bytes in the same way (libuv,
   * uv__stream_io), and the system knows better: a connection that was reset has no peer any more, one whose peer has ended
   * still has it. Nothing may ask for the address before, since Node remembers it.
   */
  #endOrderly(): void {
    const attempt = this.#attempt;
    if (this.#socket.remoteAddress === undefined) this.end(new TransportError("ECONNRESET"));
    else if (attempt !== undefined && this.#reader.finish()) this.#complete(attempt);
    else this.end(new TransportError(closedCode));
  }

  #endAtDeadline(): void {
    const attempt = this.#attempt;
    this.#attempt = undefined;
    attempt?.timeOut();
    this.end(new TransportError(closedCode));
  }
}

const empty = Buffer.alloc(0);
