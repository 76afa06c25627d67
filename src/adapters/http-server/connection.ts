import type { Duplex } from "node:stream";
import type { Clock } from "../../model/clock.ts";
import type { ProxyError } from "../../model/errors.ts";
import { wholeTurn } from "./drain.ts";
import { endConnection } from "./raw-reply.ts";

/** A request that is served when all before it on its connection have their answers. */
export interface QueuedRequest {
  /** It expects 100 Continue and has not had it: what follows may be its body (RFC 9110 section 10.1.1). */
  readonly awaitsContinue: boolean;
  /** Resolves when its answer is out, or the caller has left. */
  serve(): Promise<void>;
  /** Nothing more of it will be read: it fails with this, unless it is complete. */
  breakOff(failure: ProxyError): void;
  /** The connection takes more of its answer. */
  drained(): void;
}

/** With more requests than this, the one being served among them, the connection is not read. */
const mostQueued = 16;

/**
 * The requests of one connection. They are served one at a time and in their order (RFC 9112 section 9.3.2), up to the last:
 * one whose answer closes the connection, or that was refused. Nothing behind the last is ever served (section 9.6).
 */
export class Connection {
  /** It is beyond `limits.connections`. */
  readonly isExcess: boolean;
  /** When it was there (monotonic); with TLS, when its handshake was done. */
  readonly arrivedAtMs: number;
  readonly #socket: Duplex;
  readonly #clock: Clock;
  readonly #refusal: (failure: ProxyError) => QueuedRequest;
  /** In their order; the first is being served. */
  readonly #requests: QueuedRequest[] = [];
  #isClosing = false;
  #received = 0;

  /** @param refusal answers on the bare socket what the parser could not read */
  constructor(
    socket: Duplex,
    { isExcess, arrivedAtMs }: Pick<Connection, "isExcess" | "arrivedAtMs">,
    refusal: (failure: ProxyError) => QueuedRequest,
    clock: Clock,
  ) {
    this.isExcess = isExcess;
    this.arrivedAtMs = arrivedAtMs;
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
    else this.#boundReading();
  }

  /** The request being served is the last: what waits behind it is dropped. */
  closeAfterThis(): void {
    this.#isClosing = true;
    this.#requests.length = 1;
    this.#socket.resume();
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

  /** Takes the place of Node's own, which is gone once a CONNECT has come. */
  drained(): void {
    this.#requests[0]?.drained();
  }

  async #serve(): Promise<void> {
    for (let [request] = this.#requests; request !== undefined; [request] = this.#requests) {
      await request.serve();
      this.#requests.shift();
      // Node, or the caller, has ended the connection with that answer: no other could follow it.
      if (this.#socket.writableEnded && !this.#socket.destroyed) this.#dropQueued();
      if (this.#requests.length === mostQueued) this.#socket.resume();
    }
    // The head of the last answer may have gone out before it was known to be the last.
    if (this.#isClosing && this.#socket.writable) endConnection(this.#socket, this.#clock);
  }

  #dropQueued(): void {
    this.#isClosing = true;
    this.#requests.length = 0;
  }

  /** Node reads on after each whole message, within the present tick; so this comes after it. */
  #boundReading(): void {
    queueMicrotask(() => {
      if (this.#requests.length > mostQueued) this.#socket.pause();
    });
  }

  /**
   * Takes the socket from Node's parser: what still comes is read, so that no reset overtakes the last answer, but nothing
   * is made of it.
   */
  #dropRest(): void {
    this.#socket.removeAllListeners("data").on("data", () => {});
    setImmediate(() => this.#socket.resume());
  }
}
