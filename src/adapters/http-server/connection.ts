import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../model/clock.ts";
import type { ProxyError } from "../../model/errors.ts";
import { endConnection } from "./socket.ts";

/** A request that is served when all before it on its connection have their responses. */
export interface QueuedRequest {
  /** It expects 100 Continue and has not had it: what follows may be its body (RFC 9110 section 10.1.1). */
  readonly awaitsContinue: boolean;
  /** Resolves when its response is out, or the client has closed. */
  serve(): Promise<void>;
  /** Nothing more of it will be read: it fails with this, unless it is complete. */
  breakOff(failure: ProxyError): void;
  /** The connection takes more of its response. */
  drained(): void;
}

/** With more requests than this, the one being served among them, the connection is not read. */
const mostQueued = 16;

/**
 * The requests of one connection. They are served one at a time and in their order (RFC 9112 section 9.3.2), up to the last:
 * one whose response closes the connection, or that was refused. Nothing behind the last is ever served (section 9.6).
 */
export class Connection {
  /** It is beyond `limits.connections`. */
  readonly isExcess: boolean;
  /** Monotonic; with TLS, when its handshake was done. */
  readonly arrivedAtMs: number;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #refusal: (failure: ProxyError) => QueuedRequest;
  /** In their order; the first is being served. */
  readonly #requests: QueuedRequest[] = [];
  #isClosing = false;
  #received = 0;
  /** Since when no request is queued, and all that had come by then: more means that a request is on its way. */
  #idleSinceMs: number;
  #idleAtBytes = 0;

  /** @param refusal answers on the bare socket what the parser could not read */
  constructor(socket: Socket, isExcess: boolean, refusal: (failure: ProxyError) => QueuedRequest, clock: Clock) {
    this.isExcess = isExcess;
    this.arrivedAtMs = clock.nowMs();
    this.#idleSinceMs = this.arrivedAtMs;
    this.#socket = socket;
    this.#refusal = refusal;
    this.#clock = clock;
  }

  /** The last request is known. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  isNewest(request: QueuedRequest): boolean {
    return this.#requests.at(-1) === request;
  }

  /**
   * Serves a request in its turn; never, behind the last.
   * @param isLast whether nothing behind it is to be served
   */
  receive(request: QueuedRequest, isLast = false): void {
    this.#received += 1;
    if (this.#requests.some(({ awaitsContinue }) => awaitsContinue)) this.#isClosing = true;
    if (this.#isClosing) {
      this.#dropRest();
      return;
    }
    this.#isClosing = isLast;
    this.#requests.push(request);
    if (this.#requests.length === 1) void this.#serve();
    // Node reads on after each whole message, within the present tick; so this comes after it.
    else queueMicrotask(() => this.#requests.length > mostQueued && this.#socket.pause());
  }

  /** The request being served is the last: what waits behind it is dropped. */
  closeAfterThis(): void {
    this.#isClosing = true;
    this.#requests.length = 1;
    this.#socket.resume();
  }

  /**
   * Closes it unless something has happened on it since the moment given (monotonic). Node's own `closeIdleConnections`
   * spares those that never sent anything, and cuts a response that is written but not yet out.
   */
  closeIfIdle(sinceMs: number): void {
    const isIdle = this.#requests.length === 0 && this.#socket.bytesRead === this.#idleAtBytes;
    if (isIdle && this.#idleSinceMs <= sinceMs) this.#socket.destroySoon();
  }

  /** What was read is no HTTP: refused, if all before it is answered. Else the newest request is the last. */
  fail(failure: ProxyError): void {
    const newest = this.#requests.at(-1);
    if (newest === undefined) this.receive(this.#refusal(failure), true);
    newest?.breakOff(failure);
    this.#isClosing = true;
    this.#dropRest();
  }

  /** A head took too long, unless its rest has come: a busy loop comes to its timers before it has read that. */
  async failUnlessReceived(failure: ProxyError): Promise<void> {
    const received = this.#received;
    await wholeTurn();
    if (this.#received === received && !this.#socket.destroyed) this.fail(failure);
  }

  /** Stands in for Node's own, which is gone once a CONNECT has come. */
  drained(): void {
    this.#requests[0]?.drained();
  }

  async #serve(): Promise<void> {
    for (let [request] = this.#requests; request !== undefined; [request] = this.#requests) {
      await request.serve();
      this.#requests.shift();
      // Node, or the client, has ended the connection with that response: no other could follow it.
      if (this.#socket.writableEnded && !this.#socket.destroyed) {
        this.#isClosing = true;
        this.#requests.length = 0;
      }
      if (this.#requests.length === mostQueued) this.#socket.resume();
    }
    this.#idleSinceMs = this.#clock.nowMs();
    this.#idleAtBytes = this.#socket.bytesRead;
    // The head of the last response may have gone out before it was known to be the last.
    if (this.#isClosing && this.#socket.writable) endConnection(this.#socket, this.#clock);
  }

  /**
   * Takes the socket from Node's parser: what still comes is read, so that no reset overtakes the last response, but
   * nothing is made of it.
   */
  #dropRest(): void {
    this.#socket.removeAllListeners("data").on("data", () => {});
    setImmediate(() => this.#socket.resume());
  }
}

/** It takes two steps to be sure of a whole turn of the event loop. */
export async function wholeTurn(): Promise<void> {
  await nextTurn();
  await nextTurn();
}
