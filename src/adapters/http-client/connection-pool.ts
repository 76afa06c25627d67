import type { Cancel, Clock } from "../../model/clock.ts";
import type { Attempt, AttemptHolder } from "./attempt.ts";
import { type ConnectSettings, createConnect } from "./connect.ts";
import { type ConnectionOwner, type ConnectionSettings, PooledConnection } from "./connection.ts";
import { poolClosedCode, TransportError } from "./transport-error.ts";

/** Where connections lead and how many there may be. TLS is always verified; there is no switch to turn that off. */
export interface PoolSettings extends ConnectSettings {
  /** The most connections at once. */
  readonly connections: number;
  /** The most requests on one connection; absent: no limit. */
  readonly requestsPerConnection?: number | undefined;
  /** The longest head of a response; absent: 16 KiB. */
  readonly responseHeaderBytes?: number | undefined;
}

/** After this time, a server or a balancer with a short idle limit may be closing an idle connection. */
const longIdleMs = 200;

/**
 * The connections to one host. The pool knows attempts, not their messages. Attempts wait in one queue, first come,
 * first served. The connection that was used last is used first, so that the others become idle and are closed. A
 * connection is opened for each attempt that finds none.
 */
export class Pool implements AttemptHolder, ConnectionOwner {
  readonly #settings: ConnectionSettings;
  readonly #mostConnections: number;
  readonly #clock: Clock;
  /** All connections, including idle and connecting ones. */
  readonly #connections = new Set<PooledConnection>();
  /** Those that are being opened, or that get their first attempt at the end of this turn. */
  readonly #unused = new Set<PooledConnection>();
  readonly #idle: PooledConnection[] = [];
  readonly #waiting: Attempt[] = [];
  /** The timers of attempts that wait for longer than a turn of the event loop. */
  readonly #waits = new Map<Attempt, Cancel>();
  #isDispatchDue = false;
  #isClosing = false;
  #isDestroyed = false;
  readonly #whenEmpty: (() => void)[] = [];

  constructor(settings: PoolSettings, clock: Clock) {
    const authority = new URL(settings.address.origin).host;
    const { requestsPerConnection, responseHeaderBytes } = settings;
    this.#settings = {
      connect: createConnect(settings, clock),
      authority,
      requestsPerConnection,
      responseHeaderBytes,
    };
    this.#mostConnections = settings.connections;
    this.#clock = clock;
  }

  /** The attempt gets a connection in its turn. */
  add(attempt: Attempt): void {
    if (this.#isDestroyed) attempt.fail(new TransportError(poolClosedCode));
    else {
      this.#waiting.push(attempt);
      attempt.holder = this;
      this.#dispatchSoon();
    }
  }

  /** Ends a connection that is being opened for this attempt alone. */
  abandon(attempt: Attempt): void {
    this.#takeFromQueue(attempt);
    for (const connection of [...this.#unused].slice(this.#waiting.length)) connection.end(undefined);
  }

  /** Ends each connection once no attempt needs it. Resolves when all have ended. */
  close(): Promise<void> {
    this.#isClosing = true;
    this.#endIdle();
    return new Promise((resolve) => {
      this.#whenEmpty.push(resolve);
      this.#resolveIfEmpty();
    });
  }

  /** Ends all connections at once, and fails every attempt. */
  destroy(): Promise<void> {
    this.#isDestroyed = true;
    const error = new TransportError(poolClosedCode);
    for (const attempt of [...this.#waiting]) this.#takeFromQueue(attempt).fail(error);
    for (const connection of [...this.#connections]) connection.end(error);
    return this.close();
  }

  becameIdle(connection: PooledConnection): void {
    this.#idle.push(connection);
    if (this.#waiting.length > 0) {
      this.#dispatchSoon();
      return;
    }
    this.#unused.delete(connection);
    if (this.#isClosing) connection.end(undefined);
  }

  /** A connection that ends unused fails the oldest attempt, unless a connection is being opened for each. */
  hasEnded(connection: PooledConnection, error: unknown): void {
    this.#connections.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
    const [oldest] = this.#waiting;
    if (this.#unused.delete(connection) && oldest !== undefined && this.#waiting.length > this.#unused.size) {
      this.#takeFromQueue(oldest).fail(error);
    }
    if (this.#waiting.length > 0) this.#dispatchSoon();
    this.#resolveIfEmpty();
  }

  /**
   * An attempt gets a connection after all events of this turn of the event loop. So an idle connection that closes, or
   * gets unexpected bytes, ends before it is used, even if the close or the bytes arrive with the request.
   * @param hasWaited whether this is the extra turn for a connection that was idle for long: its close may have arrived
   */
  #dispatchSoon(hasWaited = false): void {
    if (this.#isDispatchDue) return;
    this.#isDispatchDue = true;
    setImmediate(() => this.#dispatch(hasWaited));
  }

  #dispatch(hasWaited: boolean): void {
    this.#isDispatchDue = false;
    const nowMs = this.#clock.nowMs();
    for (let attempt = this.#waiting[0]; attempt !== undefined; attempt = this.#waiting[0]) {
      if (attempt.deadlineMs <= nowMs) this.#takeFromQueue(attempt).timeOut();
      else {
        const connection = this.#idle.at(-1);
        if (connection === undefined) break;
        if (!hasWaited && nowMs - connection.idleSinceMs > longIdleMs) {
          this.#dispatchSoon(true);
          return;
        }
        this.#idle.pop();
        this.#unused.delete(connection);
        connection.send(this.#takeFromQueue(attempt));
      }
    }
    if (this.#waiting.length > 0) this.#waitForConnections(nowMs);
    else if (this.#isClosing) this.#endIdle();
  }

  #waitForConnections(nowMs: number): void {
    for (const attempt of this.#waiting) {
      if (this.#waits.has(attempt)) continue;
      const timeOut = () => this.#takeFromQueue(attempt).timeOut();
      this.#waits.set(attempt, this.#clock.after(attempt.deadlineMs - nowMs, timeOut));
    }
    while (this.#unused.size < this.#waiting.length && this.#connections.size < this.#mostConnections) {
      const connection = new PooledConnection(this.#settings, this.#clock, this);
      this.#connections.add(connection);
      this.#unused.add(connection);
    }
  }

  #endIdle(): void {
    for (const connection of [...this.#idle]) connection.end(undefined);
  }

  #takeFromQueue(attempt: Attempt): Attempt {
    if (this.#waiting[0] === attempt) this.#waiting.shift();
    else this.#waiting.splice(this.#waiting.indexOf(attempt), 1);
    if (this.#waits.size > 0) {
      this.#waits.get(attempt)?.();
      this.#waits.delete(attempt);
    }
    return attempt;
  }

  #resolveIfEmpty(): void {
    if (!this.#isClosing || this.#connections.size > 0 || this.#waiting.length > 0) return;
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }
}
