import { constants } from "node:crypto";
import type { Server, ServerOptions } from "node:http";
import { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";
import { type SecureContextOptions, TLSSocket, type TlsOptions } from "node:tls";
import { type Clock, LogThrottle } from "../../model/clock.ts";
import { errorCodeOf } from "../../model/defect.ts";
import type { Report } from "../../model/events.ts";
import type { CallersTls } from "../../model/listener.ts";

/** A handshake takes no longer. */
export const handshakeTimeoutMs = 10_000;

/** What a running listener can be given anew. */
export function secureContextOf({ ca, cert, key }: CallersTls): SecureContextOptions {
  return {
    ca,
    cert,
    key: key.reveal(),
    minVersion: "TLSv1.2",
    // A session that is resumed is believed by its ticket, whatever has become of the certificate or its authority.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

/** TLS for clients that have a certificate of the right authorities, and for no others. */
const rules: TlsOptions = {
  requestCert: true,
  rejectUnauthorized: true,
  handshakeTimeout: handshakeTimeoutMs,
  ALPNProtocols: ["http/1.1"],
};

/** A server that knows its connections from the first byte on: Node's own only hears of them after their handshake. */
export class HandshakingServer extends TlsServer {
  readonly #sockets = new Set<Socket>();

  constructor(bounds: ServerOptions) {
    super({ ...bounds, ...rules });
    this.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.on("secureConnection", (secure: TLSSocket) => serverOf.set(secure, this));
  }

  /** The TCP connection below TLS. Node has no public way from one to the other, so their addresses identify them. */
  transportOf(secure: TLSSocket): Socket | undefined {
    const names = ["remoteAddress", "remotePort", "localAddress"] as const;
    return [...this.#sockets].find((socket) => names.every((name) => socket[name] === secure[name]));
  }

  /** Those in the middle of their handshake as well. */
  override closeAllConnections(): void {
    super.closeAllConnections();
    for (const socket of this.#sockets) socket.destroy();
  }
}

const serverOf = new WeakMap<Socket, HandshakingServer>();

/** The TCP connection, or Unix socket, that carries a client's connection: itself without TLS. */
export function transportOf(socket: Socket): Socket | undefined {
  return socket instanceof TLSSocket ? serverOf.get(socket)?.transportOf(socket) : socket;
}

export function isTls(server: Server): server is TlsServer {
  return server instanceof TlsServer;
}

/** The event that brings the sockets which a server's requests come on: with TLS, when the handshake is done. */
export function arrivalOf(server: Server): "connection" | "secureConnection" {
  return isTls(server) ? "secureConnection" : "connection";
}

/** Reports each handshake that fails, and marks those of a kind that was not seen for a while. */
export function reportHandshakes(server: TlsServer, listener: string, report: Report, clock: Clock): void {
  const throttle = new LogThrottle(clock);
  server.on("tlsClientError", (error: unknown, { authorizationError }: TLSSocket) => {
    // Where a certificate is refused Node cuts the connection, and gives that as the error.
    const reason = errorCodeOf({ code: authorizationError ?? undefined }) ?? errorCodeOf(error) ?? "OTHER";
    report({ kind: "handshake_failed", listener, reason, isFirst: throttle.isFirst(reason) });
  });
}
