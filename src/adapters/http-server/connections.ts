import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../model/clock.ts";
import { arrivalOf } from "./handshakes.ts";

/** What a connection is doing. */
interface Use {
  /** Requests that are not answered to their end. */
  exchanges: number;
  quietSinceMs: number;
  /** All that had come by then: more means that a request is on its way. */
  quietAtBytes: number;
}

/**
 * The open connections of a server. Node's own `closeIdleConnections` spares those that never sent anything, and cuts an
 * answer that is written but not yet out.
 */
export class Connections {
  readonly server: Server;
  readonly #uses = new Map<Socket, Use>();
  readonly #clock: Clock;
  #accepted = 0;

  /** @param server not yet listening */
  constructor(server: Server, clock: Clock) {
    this.server = server;
    this.#clock = clock;
    server.on(arrivalOf(server), (socket: Socket) => {
      this.#accepted += 1;
      this.#uses.set(socket, { exchanges: 0, quietSinceMs: clock.nowMs(), quietAtBytes: 0 });
      socket.once("close", () => this.#uses.delete(socket));
    });
    for (const event of ["request", "checkContinue", "checkExpectation"]) {
      server.on(event, ({ socket }: IncomingMessage, response: ServerResponse) => this.#follow(socket, response));
    }
  }

  /** Those that are open now. */
  get open(): number {
    return this.#uses.size;
  }

  /** All that ever came. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Closes those on which nothing has happened since the moment given (monotonic). */
  closeQuiet(sinceMs: number): void {
    for (const [socket, { exchanges, quietSinceMs, quietAtBytes }] of this.#uses) {
      const isQuiet = exchanges === 0 && socket.bytesRead === quietAtBytes;
      if (isQuiet && quietSinceMs <= sinceMs) socket.destroySoon();
    }
  }

  #follow(socket: Socket, response: ServerResponse): void {
    const use = this.#uses.get(socket);
    if (use === undefined) return;
    use.exchanges += 1;
    response.once("close", () => {
      use.exchanges -= 1;
      use.quietSinceMs = this.#clock.nowMs();
      use.quietAtBytes = socket.bytesRead;
    });
  }
}
