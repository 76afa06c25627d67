import { constants, type X509Certificate } from "node:crypto";
import { Server as NetServer, type Socket } from "node:net";
import { type SecureContextOptions, TLSSocket, type TlsOptions, Server as TlsServer } from "node:tls";
import { type Clock, LogThrottle } from "../../model/clock.ts";
import { errorCodeOf, printable } from "../../model/defect.ts";
import type { Report } from "../../model/events.ts";
import { type CallersTls, certificateNames } from "../../model/listener.ts";
import type { Peer } from "../../proxy/messages.ts";

/** The longest time for a handshake. */
export const handshakeTimeoutMs = 10_000;
/** A distinguished name has an organisation, its units and a common name; a longer one is cut. */
const longestSubject = 256;
/** IPv4 seen through a socket of IPv6 (RFC 4291 section 2.5.5.2). */
const mappedIPv4 = /^::ffff:(?=\d+\.)/i;

/** TLS for callers that have a certificate of the right authorities, and for no others. */
const rules: TlsOptions = {
  noDelay: true,
  requestCert: true,
  rejectUnauthorized: true,
  handshakeTimeout: handshakeTimeoutMs,
  ALPNProtocols: ["http/1.1"],
};

/** The TLS settings that a running listener can change. */
export function secureContextOf({ ca, cert, key }: CallersTls): SecureContextOptions {
  return {
    ca,
    cert,
    key: key.reveal(),
    minVersion: "TLSv1.2",
    // A resumed session is trusted by its ticket, even if the certificate or its authority is no longer trusted.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

export interface SocketServer extends NetServer {
  /** Also closes connections in the middle of their handshake. */
  closeAllConnections(): void;
}

/** For each TLS connection: all TCP connections of its server. */
const transportsOf = new WeakMap<Socket, ReadonlySet<Socket>>();

/**
 * A server of connections with or without TLS.
 * @param onConnection with TLS, called when the handshake is done
 */
export function createSocketServer(hasTls: boolean, onConnection: (socket: Socket) => void): SocketServer {
  const transports = new Set<Socket>();
  /** Those whose handshake is not done, the oldest first; none on a Unix socket, where no address identifies them. */
  const handshakes = new Set<Socket>();
  const server = hasTls ? new TlsServer(rules) : new NetServer({ noDelay: true });
  server.on("connection", (socket: Socket) => {
    // One place stays free: a connection beyond the maximum would be closed without an answer.
    if (transports.size + 1 >= server.maxConnections) handshakes.values().next().value?.destroy();
    transports.add(socket);
    if (hasTls && socket.remoteAddress !== undefined) handshakes.add(socket);
    socket.once("close", () => {
      transports.delete(socket);
      handshakes.delete(socket);
    });
  });
  server.on("secureConnection", (secure: TLSSocket) => {
    transportsOf.set(secure, transports);
    const transport = transportOf(secure);
    if (transport !== undefined) handshakes.delete(transport);
  });
  server.on(hasTls ? "secureConnection" : "connection", (socket: Socket) => {
    // A caller that closes its half may still read the error of its request.
    socket.allowHalfOpen = true;
    onConnection(socket);
  });
  const closeAllConnections = () => {
    for (const socket of transports) socket.destroy();
  };
  return Object.assign(server, { closeAllConnections });
}

export function isTls(server: NetServer): server is TlsServer {
  return server instanceof TlsServer;
}

/**
 * The TCP connection, or Unix socket, that carries a caller's connection; without TLS, that connection itself. Node has no public
 * way from one to the other, so their addresses identify them.
 */
export function transportOf(socket: Socket): Socket | undefined {
  const transports = transportsOf.get(socket);
  if (transports === undefined) return socket;
  const names = ["remoteAddress", "remotePort", "localAddress"] as const;
  return [...transports].find((transport) => names.every((name) => transport[name] === socket[name]));
}

export function peerOf(socket: Socket): Peer {
  const address = socket.remoteAddress?.replace(mappedIPv4, "");
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (certificate === undefined) return { address, subject: undefined };
  const names = certificateNames(certificate.subjectAltName);
  return { address, subject: subjectOf(certificate, names), certificateNames: names };
}

/** OpenSSL escapes control characters, but writes one line for each part. A workload's certificate may have no subject. */
function subjectOf({ subject }: X509Certificate, [firstName]: readonly string[]): string | undefined {
  const text = subject?.trim().split("\n").join(", ") || firstName;
  return text === undefined ? undefined : printable(text, longestSubject);
}

/** Reports each handshake that fails, and marks the first of its kind after a while. */
export function reportHandshakes(server: TlsServer, listener: string, report: Report, clock: Clock): void {
  const throttle = new LogThrottle(clock);
  server.on("tlsClientError", (error: unknown, socket: TLSSocket) => {
    // The connection of a handshake that takes too long is still open.
    socket.destroy();
    const { authorizationError } = socket;
    // If a certificate is refused, Node cuts the connection, and reports that cut as the error.
    const reason = errorCodeOf({ code: authorizationError ?? undefined }) ?? errorCodeOf(error) ?? "OTHER";
    report({ kind: "handshake_failed", listener, reason, isFirst: throttle.isFirst(reason) });
  });
}
