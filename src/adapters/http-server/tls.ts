import { constants, type X509Certificate } from "node:crypto";
import { Server as NetServer, Socket } from "node:net";
import { type SecureContextOptions, TLSSocket, type TlsOptions, Server as TlsServer } from "node:tls";
import { type Clock, LogThrottle } from "../../model/clock.ts";
import { errorCodeOf, printable } from "../../model/defect.ts";
import type { Report } from "../../model/events.ts";
import { type CallersTls, callerHost, certificateNames } from "../../model/listener.ts";
import type { Peer } from "../../serving/messages.ts";

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

/** A connection whose handshake is not done. It gives way to a new connection like one that waits for its caller. */
export class Handshake {
  readonly owner: string;
  readonly waitsSince: number;
  readonly #socket: Socket;

  constructor(socket: Socket, nowMs: number) {
    this.owner = ownerOf(socket);
    this.waitsSince = nowMs;
    this.#socket = socket;
  }

  giveWay(): void {
    this.#socket.destroy();
  }
}

interface SocketServerParts {
  readonly hasTls: boolean;
  readonly clock: Clock;
  /** Makes room for a new connection: one beyond the maximum would be closed without an answer. */
  readonly makeRoom: (owner: string, handshakes: Iterable<Handshake>) => void;
  /** With TLS, called when the handshake is done. */
  readonly onConnection: (socket: Socket) => void;
}

/** A server of connections with or without TLS. */
export function createSocketServer({ hasTls, clock, makeRoom, onConnection }: SocketServerParts): SocketServer {
  const transports = new Set<Socket>();
  /** Those whose handshake is not done; none on a Unix socket, where no address identifies them. */
  const handshakes = new Map<Socket, Handshake>();
  const server = hasTls ? new TlsServer(rules) : new NetServer({ noDelay: true });
  server.on("connection", (socket: Socket) => {
    // One place stays free.
    if (transports.size + 1 >= server.maxConnections) makeRoom(ownerOf(socket), handshakes.values());
    transports.add(socket);
    if (hasTls && socket.remoteAddress !== undefined) handshakes.set(socket, new Handshake(socket, clock.nowMs()));
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

/** The caller's host; all callers on this machine, or on a Unix socket, are one owner. */
export function ownerOf(socket: Socket): string {
  return callerHost(addressOf(socket));
}

function addressOf({ remoteAddress }: Socket): string | undefined {
  return remoteAddress?.replace(mappedIPv4, "");
}

export function peerOf(socket: Socket): Peer {
  const address = addressOf(socket);
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
    if (isSilent(socket)) return;
    const { authorizationError } = socket;
    // If a certificate is refused, Node cuts the connection, and reports that cut as the error.
    const reason = errorCodeOf({ code: authorizationError ?? undefined }) ?? errorCodeOf(error) ?? "OTHER";
    report({ kind: "handshake_failed", listener, reason, isFirst: throttle.isFirst(reason) });
  });
}

/** A connection without a byte is no failed handshake: it checks the port, or waits in a pool. Node has no public way to its bytes. */
function isSilent(socket: TLSSocket): boolean {
  const transport: unknown = Reflect.get(socket, "_parent");
  return transport instanceof Socket && transport.bytesRead === 0;
}
