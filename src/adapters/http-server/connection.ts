import type { Socket } from "node:net";
import { type Clock, DeadlineTimer } from "../../model/clock.ts";
import { ProxyError } from "../../model/errors.ts";
import type { Buffers, Peer } from "../../serving/messages.ts";
import { type Idleness, idlenessAfar, idlenessHere } from "./answer.ts";
import { endConnection, linger, resetConnection } from "./closing.ts";
import { ByteBlock, closedEarly, type QueuedRequest } from "./read-body.ts";
import { HeadReader, malformed, type RequestHead } from "./request-reader.ts";
import { ownerOf, peerOf } from "./tls.ts";

/** A request's head must be complete within this time from its first byte. */
const headTimeoutMs = 10_000;
/** The caller must take an answer within this time. */
const takeTimeoutMs = 75_000;
/** With this many bytes waiting behind the present request, the connection is not read. */
const mostWaitingBytes = 16_384;
const nothing = Buffer.alloc(0);
const ignore = () => {};

/**
 * One caller's connection. Bytes become heads and bodies (request-reader.ts, read-body.ts), each request is served in its turn
 * (socket-request.ts), and its response is written here. Requests are served one at a time and in their order (RFC 9112
 * section 9.3.2), up to the last one: its response closes the connection, or it was refused. No request behind the last one is
 * ever served (section 9.6). The next head is read ahead: if it is malformed, the request before it is the last. Each request
 * has a turn of the event loop to itself, and bytes that wait for a turn are charged to the budget.
 */
export class Connection {
  readonly socket: Socket;
  /** On the monotonic clock; with TLS, the end of the handshake. */
  readonly arrivedAtMs: number;
  readonly peer: Peer;
  /** As in `ownerOf`. */
  readonly owner: string;
  readonly idleness: Idleness;
  /** Unix sockets have no reset. */
  readonly canBeReset: boolean;
  /** The caller has closed the connection, or its half. */
  isGone = false;
  /** The present request came before its predecessor was answered. */
  hasQueued = false;
  /** Only the connection's close ends the present response. */
  closeEndsResponse = false;
  /** Called when the caller closes while the present request is served. */
  onGone = ignore;
  readonly #clock: Clock;
  readonly #buffers: Buffers;
  readonly #receive: (head: RequestHead | Error) => QueuedRequest;
  readonly #heads = new HeadReader();
  /** The bytes that have come and are neither in the present request nor in the next head. */
  readonly #waiting = new ByteBlock();
  /** Memory for the waiting bytes, the next head included; undefined if none wait. */
  #charged: ReturnType<Buffers["open"]> | undefined;
  #request: QueuedRequest | undefined;
  #next: RequestHead | undefined;
  /** The head of the present answer has said that the connection stays open. */
  #staysOpen = false;
  /** The bytes behind such an answer are no HTTP, or have no room: they are refused in their turn. */
  #refusal: Error | undefined;
  /** No request behind the present one is served. */
  #isLast = false;
  /** Bytes that still come are ignored. */
  #isBroken = false;
  #hasDropped = false;
  #isReset = false;
  /** For the present wait: for a head, a body, the next request, or a slow reader. */
  readonly #timer: DeadlineTimer;
  #onDeadline = ignore;
  #onFlushed = ignore;
  /** Start of the wait for the caller's request, for the rest of it, or for its close. */
  #waitsSinceMs = 0;

  /** @param receive makes a request from its head, or from the head's error */
  constructor(socket: Socket, clock: Clock, buffers: Buffers, receive: (head: RequestHead | Error) => QueuedRequest) {
    this.socket = socket;
    this.#clock = clock;
    this.#buffers = buffers;
    this.#receive = receive;
    this.peer = peerOf(socket);
    this.owner = ownerOf(socket);
    this.idleness = this.owner === "" ? idlenessHere : idlenessAfar;
    this.canBeReset = socket.remoteAddress !== undefined;
    this.#timer = new DeadlineTimer(clock, () => {
      if (!socket.destroyed) this.#onDeadline();
    });
    this.awaitCaller(this.idleness.idleMs, this.#onIdle);
    this.arrivedAtMs = this.#waitsSinceMs;
    socket.on("data", this.#onData).on("end", this.#onEnd).on("close", this.#onClose);
    // The "close" event follows and is handled.
    socket.on("error", () => {});
  }

  /** Whether the request that is refused unread is a HEAD. */
  get refusesHead(): boolean {
    return this.#heads.isHead;
  }

  /** The kernel has all bytes that were written. */
  get isFlushed(): boolean {
    return this.socket.writableLength === 0;
  }

  /**
   * Whether the present response ends the connection.
   * @param isDraining in a drain only the newest request's response does, so that every request is answered
   */
  closes(isDraining: boolean): boolean {
    return this.#isLast || (isDraining && this.#next === undefined);
  }

  /** The answer's head has said that the connection stays open: the next request gets an answer too. */
  stayOpenAfterThis(): void {
    this.#staysOpen = true;
  }

  /** The request being served is the last: bytes that wait behind it are dropped. */
  closeAfterThis(): void {
    this.#isLast = true;
    this.#dropWaiting();
    this.resume();
  }

  /**
   * Resolves when the caller has taken all bytes that were written, or has closed.
   * @throws ProxyError upstream_timeout at the deadline
   */
  flushed(deadlineMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onFlushed = () => {
        this.#onFlushed = ignore;
        this.#clearDeadline();
        resolve();
      };
      this.setDeadline(deadlineMs, () => {
        const what = "The caller did not take the whole answer in time.";
        reject(new ProxyError("upstream_timeout", what, { causedBy: "slow caller" }));
      });
      this.#notifyFlushed();
    });
  }

  /** Ends the connection in the middle of a response, so that the caller cannot accept the part as the whole. */
  reset(): Promise<void> {
    this.#isReset = true;
    this.closeAfterThis();
    return resetConnection(this.socket, this.#clock);
  }

  /** Continues reading, unless enough bytes wait already. */
  resume(): void {
    if (this.#waiting.length >= mostWaitingBytes || this.#request?.body.isFull === true) return;
    if (this.socket.isPaused()) this.socket.resume();
  }

  /**
   * Detaches the socket for another protocol. The present request must be the last; it lasts until the socket is closed.
   * @throws ProxyError body_incomplete if the caller has sent more without waiting for the response
   */
  detachSocket(): Socket {
    if (this.#hasDropped) {
      const what = "Bytes of another protocol came before the connection had switched to it.";
      throw new ProxyError("body_incomplete", what, { causedBy: "no wait for 101" });
    }
    this.#clearDeadline();
    return this.socket.off("data", this.#onData).off("end", this.#onEnd);
  }

  /** From now on the connection waits for its caller, for this long at most. */
  awaitCaller(timeoutMs: number, onDeadline: () => void): void {
    this.#waitsSinceMs = this.#clock.nowMs();
    this.setDeadline(this.#waitsSinceMs + timeoutMs, onDeadline);
  }

  /** Calls `onDeadline` at this moment (monotonic), unless another deadline is set by then. */
  setDeadline(deadlineMs: number, onDeadline: () => void): void {
    this.#onDeadline = onDeadline;
    this.#timer.set(deadlineMs);
  }

  /** No byte of the next request has come, and the caller has all bytes that were written. */
  get #isIdle(): boolean {
    return this.#request === undefined && this.#next === undefined && !this.#heads.hasBegun && this.isFlushed;
  }

  /** Since when the connection has only waited for its caller; undefined if it does not wait. */
  get waitsSince(): number | undefined {
    const isWaiting = this.#request === undefined ? this.#next === undefined : this.#request.body.isAwaited;
    return isWaiting ? this.#waitsSinceMs : undefined;
  }

  /** Closes the connection if it has been idle since this moment (monotonic). After its last response it closes by itself. */
  closeIfIdle(sinceMs: number): void {
    if (this.#isIdle && !this.#isLast && this.#waitsSinceMs <= sinceMs) this.#closeIdle();
  }

  /** Makes room for another connection: refuses a request that has begun, else closes. Call it only while `waitsSince` is set. */
  giveWay(refusal: ProxyError): void {
    if (this.#isIdle) this.#closeIdle();
    else this.refuseUnread(refusal);
  }

  /** Refuses a request of which a part has come, and the rest is waited for. */
  refuseUnread(refusal: ProxyError): void {
    if (this.#request?.body.isAwaited) this.#request.body.fail(refusal);
    else if (this.#request === undefined && this.#heads.hasBegun) this.#fail(refusal);
  }

  /** A request that comes before the close is not read: its response would be lost. */
  #closeIdle(): void {
    this.#close(undefined);
    this.socket.destroySoon();
  }

  /** The path that every byte takes. */
  readonly #onData = (bytes: Buffer): void => {
    // Otherwise the next request begins when the present one has ended.
    const isAwaited = this.#request === undefined && this.#next === undefined;
    this.#waiting.add(bytes);
    this.#read();
    if (isAwaited && this.#request === undefined) {
      this.hasQueued = false;
      if (this.#next !== undefined) this.#begin(this.#next);
      else if (this.#heads.hasBegun && this.#onDeadline !== this.#onSlowHead) {
        this.awaitCaller(headTimeoutMs, this.#onSlowHead);
      }
    }
    this.#chargeWaiting();
  };

  /** Reads the rest of the present request's body, and then the head of the next. */
  #read(): void {
    const { bytes } = this.#waiting;
    const body = this.#request?.body;
    let position = 0;
    try {
      if (body !== undefined && !body.isComplete) {
        position = body.read(bytes, 0);
        // If the caller is already taking the response, that deadline stays.
        if (body.isComplete && this.#onFlushed === ignore) this.#clearDeadline();
      }
      if (this.#isBroken || (this.#isLast && body?.isComplete !== false)) {
        if (position < bytes.length) this.#hasDropped = true;
        position = bytes.length;
      } else if (body?.isComplete !== false && this.#next === undefined && position < bytes.length) {
        this.#next = this.#heads.read(bytes, position);
        position = this.#heads.position;
      }
      this.#waiting.drop(position);
    } catch (error) {
      this.#fail(error);
    }
    if (this.#waiting.length >= mostWaitingBytes || body?.isFull === true) this.socket.pause();
  }

  #begin(head: RequestHead | Error): void {
    this.#clearDeadline();
    const request = this.#receive(head);
    this.#next = undefined;
    this.#request = request;
    this.#staysOpen = false;
    this.#isLast = request.isLast;
    if (this.#waiting.length > 0) this.#read();
    void request.serve().then(this.#onServed);
  }

  /** The next request has a turn of its own, so that many small requests of one caller delay no other caller. */
  readonly #beginNext = (): void => {
    if (this.#next === undefined || this.#request !== undefined) return;
    this.hasQueued = true;
    this.#begin(this.#next);
    this.#chargeWaiting();
  };

  /** Bytes that do not fit into the budget, or are slow while others need room, are refused; behind a request, dropped. */
  #chargeWaiting(): void {
    const bytes = this.#waiting.heldBytes + this.#heads.heldBytes + (this.#next?.heldBytes ?? 0);
    if (bytes === 0) {
      this.#charged?.close();
      this.#charged = undefined;
      return;
    }
    if (this.#charged === undefined) {
      this.#charged = this.#buffers.open(this.peer);
      this.#charged.onEvicted = (error) => this.#fail(error);
    }
    try {
      this.#charged.reserve(bytes);
    } catch (error) {
      this.#fail(error);
    }
  }

  #dropWaiting(): void {
    this.#next = undefined;
    this.#waiting.clear();
    this.#heads.clear();
    this.#chargeWaiting();
  }

  readonly #onServed = (): void => {
    const { socket } = this;
    if (this.isFlushed || socket.destroyed) {
      this.#finishRequest();
      return;
    }
    this.#onFlushed = () => {
      this.#onFlushed = ignore;
      this.#finishRequest();
    };
    this.setDeadline(this.#clock.nowMs() + takeTimeoutMs, () => socket.destroy());
    this.#notifyFlushed();
  };

  /** The request has its response: the next one begins, or is waited for. */
  #finishRequest(): void {
    const request = this.#request;
    this.#request = undefined;
    this.onGone = ignore;
    if (this.#isLast) {
      this.#close(request);
      return;
    }
    if (this.isGone) {
      this.#timer.close();
      return;
    }
    this.resume();
    if (this.#refusal !== undefined) this.#begin(this.#refusal);
    else if (this.#next !== undefined) setImmediate(this.#beginNext);
    else if (this.#heads.hasBegun) this.awaitCaller(headTimeoutMs, this.#onSlowHead);
    else this.awaitCaller(this.idleness.idleMs, this.#onIdle);
  }

  #close(request: QueuedRequest | undefined): void {
    const { socket } = this;
    this.#timer.close();
    this.#waitsSinceMs = this.#clock.nowMs();
    socket.off("data", this.#onData).off("end", this.#onEnd);
    if (socket.destroyed || request === undefined || (this.isGone && this.closeEndsResponse)) return;
    if (!this.#isBroken && !request.body.isComplete) void linger(socket, request.body, this.#clock);
    else if (request.callerCloses && !this.#hasDropped) socket.destroySoon();
    else endConnection(socket, this.#clock);
  }

  /** The bytes that came are no HTTP, or have no room: they are refused in place of the next request. */
  #fail(error: unknown): void {
    this.#isBroken = true;
    this.#dropWaiting();
    const reason = error instanceof Error ? error : new Error("the request could not be read");
    if (this.#request !== undefined && this.#staysOpen) {
      this.#refusal = reason;
      return;
    }
    this.#isLast = true;
    if (this.#request !== undefined) this.#request.body.fail(error);
    else this.#begin(reason);
  }

  /** A caller that closes its half counts as gone, except in the middle of a request: it then gets an error. */
  readonly #onEnd = (): void => {
    if (this.#isBroken) return;
    const isCutShort = this.#request === undefined ? this.#heads.hasBegun : !this.#request.body.isComplete;
    if (isCutShort) {
      this.#fail(malformed("HPE_INVALID_EOF_STATE"));
    } else {
      this.isGone = true;
      this.#dropWaiting();
      this.onGone();
      // An orderly end would make the caller's part of the response look whole.
      if (this.closeEndsResponse) void resetConnection(this.socket, this.#clock);
      else endConnection(this.socket, this.#clock);
    }
  };

  readonly #onClose = (): void => {
    this.isGone = !this.#isReset;
    this.#timer.close();
    this.#dropWaiting();
    this.#request?.body.fail(closedEarly());
    this.#onFlushed();
    if (this.isGone) this.onGone();
  };

  readonly #onSlowHead = (): void => {
    const what = "The request's head was not complete after 10 s. An empty line ends it.";
    this.#fail(new ProxyError("request_timeout", what, { causedBy: "head" }));
  };

  readonly #onIdle = (): void => {
    this.socket.destroy();
  };

  #clearDeadline(): void {
    this.#onDeadline = ignore;
    this.#timer.clear();
  }

  /** An empty write behind all others: its callback comes last. */
  #notifyFlushed(): void {
    this.socket.write(nothing, () => this.#onFlushed());
  }
}
