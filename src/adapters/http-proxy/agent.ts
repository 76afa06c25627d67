import { Agent, type ClientRequest } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** Begins to connect; `createConnect` makes such functions. */
export type Connect = (handlers: { onReady(socket: Socket): void; onFailed(error: unknown): void }) => Connecting;

export interface Connecting {
  /** Ends the connection, and calls no handler. */
  destroy(): void;
}

/** How long an idle connection is kept: most servers close theirs after 5 s and more. */
const keepAliveMs = 4_000;

export interface AgentSettings {
  /** Begins to connect, as the environment is configured. */
  readonly connect: Connect;
  /**
   * The most requests at once. A request never waits for a connection: a retry has its own while the first answer is
   * still being received.
   */
  readonly requests: number;
  /** The most requests on one connection; undefined: no limit. */
  readonly requestsPerConnection: number | undefined;
}

/** The connections to one service. Each carries one request at a time. */
export class ServiceAgent extends Agent {
  readonly #connect: Connect;
  readonly #requestsPerConnection: number;
  /** How many requests each connection has carried. */
  readonly #carried = new WeakMap<Duplex, number>();
  readonly #connecting = new Set<Connecting>();
  /** The connection that was begun last. */
  #begun: Connecting | undefined;
  #isClosing = false;

  constructor({ connect, requests, requestsPerConnection = Number.POSITIVE_INFINITY }: AgentSettings) {
    super({ keepAlive: true, maxSockets: 2 * requests, maxFreeSockets: requests, timeout: keepAliveMs });
    this.#connect = connect;
    this.#requestsPerConnection = requestsPerConnection;
  }

  /** TLS and the proxy are decided by `connect`, not by the URL. */
  override createConnection(
    _: unknown,
    onCreated: (error: Error | null, socket: Duplex) => void = () => {},
  ): undefined {
    const begun = this.#connect({
      onReady: (socket) => {
        this.#connecting.delete(connecting);
        failAtReset(socket);
        onCreated(null, socket);
      },
      onFailed: (error) => {
        this.#connecting.delete(connecting);
        // With an error Node needs no socket, but its types demand one.
        onCreated(error as Error, undefined as unknown as Duplex);
      },
    });
    const connecting = {
      destroy: () => {
        this.#connecting.delete(connecting);
        begun.destroy();
      },
    };
    this.#connecting.add(connecting);
    this.#begun = connecting;
  }

  /** @returns the connection that this call begins; undefined if the request uses an open one */
  begunBy(makeRequest: () => void): Connecting | undefined {
    this.#begun = undefined;
    makeRequest();
    return this.#begun;
  }

  /** A connection with unrequested bytes is not kept: they would be read as the next response. */
  override keepSocketAlive(socket: Duplex): boolean {
    const carried = (this.#carried.get(socket) ?? 0) + 1;
    this.#carried.set(socket, carried);
    if (this.#isClosing || socket.readableLength > 0 || carried >= this.#requestsPerConnection) return false;
    // Node's documentation has this result, but its types do not.
    const isKept: unknown = super.keepSocketAlive(socket);
    if (isKept === true) socket.once("data", endUnasked);
    return isKept === true;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    socket.off("data", endUnasked);
    super.reuseSocket(socket, request);
  }

  /** Ends idle connections now, and the others after their response. */
  close(): void {
    this.#isClosing = true;
    for (const socket of Object.values(this.freeSockets).flat()) socket?.destroy();
  }

  /** Ends all connections at once, with those that are being made, which Node does not know. */
  override destroy(): void {
    this.#isClosing = true;
    for (const connecting of this.#connecting) connecting.destroy();
    super.destroy();
  }
}

function endUnasked(this: Duplex): void {
  this.destroy();
}

/**
 * Node reports a reset that comes together with bytes as an orderly end (libuv, uv__stream_io), so a part of a body looks
 * whole. The system distinguishes them: after a reset, or when both sides have ended, the socket has no remote address.
 * No code may read the address earlier.
 */
function failAtReset(socket: Socket): void {
  const push = socket.push.bind(socket);
  socket.push = (chunk: Buffer | null) => {
    if (chunk !== null || socket.writableEnded || socket.remoteAddress !== undefined) return push(chunk);
    socket.destroy(Object.assign(new Error("reset"), { code: "ECONNRESET" }));
    return false;
  };
}
