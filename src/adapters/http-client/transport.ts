import { isIP, type Socket } from "node:net";
import type { Cancel, Clock } from "../../model/clock.ts";
import { type Address, withoutBrackets } from "../../model/environment.ts";
import { closedCode, connectTimeoutCode, dnsTimeoutCode, TransportError } from "./transport-error.ts";

/** What becomes of a connection that is being made: one of the first two is called, once, unless it is destroyed before. */
export interface ConnectHandlers {
  /** It leads to the host, verified where that is https. */
  onReady(socket: Socket): void;
  /** It could not be made, or not in time. */
  onFailed(error: unknown): void;
  /** Told of each socket before it is connected: of a proxy's, then of the host's. */
  onSocket?(socket: Socket): void;
}

/** A connection from the attempt to make it on. What becomes of the socket that it follows becomes of it. */
export class Transport {
  readonly #handlers: ConnectHandlers;
  readonly #cancelTimer: Cancel;
  #socket: Socket;
  #isLookingUp: boolean;
  #isSettled = false;

  /**
   * @param to where the socket connects to
   * @param timeoutMs until it is ready
   */
  constructor(socket: Socket, to: Address, handlers: ConnectHandlers, timeoutMs: number, clock: Clock) {
    this.#handlers = handlers;
    this.#isLookingUp = isIP(withoutBrackets(to.host)) === 0;
    socket.once("lookup", () => {
      this.#isLookingUp = false;
    });
    this.#cancelTimer = clock.after(timeoutMs, () =>
      this.fail(new TransportError(this.#isLookingUp ? dnsTimeoutCode : connectTimeoutCode)),
    );
    this.#socket = socket;
    this.follow(socket);
  }

  /** Leads to the host once it is ready, and perhaps to a proxy before. */
  get socket(): Socket {
    return this.#socket;
  }

  /** This socket takes the place of the one before. */
  follow(socket: Socket): Socket {
    this.#socket = socket;
    this.#handlers.onSocket?.(socket);
    return socket.on("error", (error) => this.fail(error)).on("close", () => this.fail(new TransportError(closedCode)));
  }

  succeed(): void {
    if (this.#settle()) this.#handlers.onReady(this.#socket);
  }

  fail(error: unknown): void {
    if (!this.#settle()) return;
    this.#socket.destroy();
    this.#handlers.onFailed(error);
  }

  /** Ends it at whatever stage; no handler is called for that. */
  destroy(): void {
    this.#settle();
    this.#socket.destroy();
  }

  /** @returns false where it was settled before */
  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#cancelTimer();
    return true;
  }
}
