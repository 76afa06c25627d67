import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { errorCodeOf } from "../../model/defect.ts";
import { ProxyError } from "../../model/errors.ts";
import type { Report } from "../../model/events.ts";
import type { CallersTls } from "../../model/listener.ts";
import type { RequestHandler } from "../../proxy/handler.ts";
import { type ClientRequestSettings, NodeClientRequest } from "./client-request.ts";
import { Connection, type QueuedRequest } from "./connection.ts";
import { canBeReset, clientOnSocket } from "./socket.ts";
import { arrivalOf, HandshakingServer, handshakeTimeoutMs, isTls, reportHandshakes, secureContextOf } from "./tls.ts";

export interface ListenerSettings extends ClientRequestSettings {
  /** `limits.connections`; those beyond get 503, and those beyond twice as many are not accepted at all. */
  readonly connections: number;
  /** While requests have to wait: until when. */
  readonly held?: () => Promise<void> | undefined;
}

/** What a listener serves with. */
export interface Serving {
  readonly handler: RequestHandler;
  readonly settings: ListenerSettings;
  /** Clients are authenticated by certificate. A listener stays with TLS or without, as it was made. */
  readonly tls?: CallersTls | undefined;
}

/** Which listener it is, for the log. */
export interface Binding {
  readonly name: string;
  readonly report: Report;
}

export interface Listener {
  readonly server: Server;
  /** Connections that are open now; with TLS, those whose handshake is done. */
  readonly open: number;
  /** All connections that ever came. */
  readonly accepted: number;
  /** Closes connections on which nothing has happened since the moment given (monotonic). */
  closeIdle(sinceMs: number): void;
  /**
   * Takes over from the present serving what is not asked for at each request: the bound on connections, and for new
   * handshakes the certificate, its key and the authorities. With other authorities, open connections end with their
   * next response.
   * @throws when OpenSSL rejects them; then everything stays as it was
   */
  renew(): void;
}

/** Longer than the pools of most clients, so that clients close idle connections first. */
const keepAliveTimeoutMs = 75_000;
const retryAfterMs = 1_000;

const bounds: ServerOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 0,
  connectionsCheckingInterval: 500,
  keepAliveTimeout: keepAliveTimeoutMs,
  insecureHTTPParser: false,
  requireHostHeader: false,
};

/**
 * A server for applications. Node parses and frames; every decision is the handler's. Framing is never forwarded: the
 * handler sees a target, header lines and a whole body.
 * @param current asked at each connection and at each request, so that a running listener can be given another serving
 */
export function createListener(current: () => Serving, { name, report }: Binding): Listener {
  const connections = new Map<Duplex, Connection>();
  let accepted = 0;
  let authorities = current().tls?.ca;
  /** An earlier connection may rest on an authority that has been removed: it gets one response and has to come again. */
  let trustedFromMs = Number.NEGATIVE_INFINITY;

  const open = (socket: Socket) => {
    const { settings } = current();
    const { clock } = settings;
    const isExcess = connections.size >= settings.connections;
    const refuse = (failure: ProxyError) =>
      onSocket(() => current().handler.refuse(clientOnSocket(socket, [], clock), failure));
    accepted += 1;
    connections.set(socket, new Connection(socket, isExcess, refuse, clock));
    socket.once("close", () => connections.delete(socket));
  };
  const serve = async (clientRequest: NodeClientRequest, refusal: ProxyError | undefined) => {
    const held = current().settings.held?.();
    if (held !== undefined) await held;
    const { handler } = current();
    await (refusal === undefined ? handler.handle(clientRequest) : handler.refuse(clientRequest, refusal));
  };
  const receive = (wantsContinue: boolean) => (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket);
    if (connection === undefined) return;
    const { settings } = current();
    const refusal = connection.isExcess ? tooManyConnections(settings) : explainVersion(request);
    const node = { request, response, wantsContinue };
    const clientRequest = new NodeClientRequest(node, settings, connection, () => serve(clientRequest, refusal));
    const isOutdated = connection.arrivedAtMs < trustedFromMs;
    connection.receive(clientRequest, refusal !== undefined || wantsUpgrade(request) || isOutdated);
  };
  const receiveTunnel = (request: IncomingMessage, socket: Duplex) => {
    const connection = connections.get(socket);
    const client = clientOnSocket(socket, request.rawHeaders, current().settings.clock);
    const readBody = () => new Uint8Array();
    const tunnel = { ...client, method: "CONNECT", target: request.url ?? "", readBody };
    // Node has let go of the socket.
    socket.on("error", () => socket.destroy()).on("drain", () => connection?.drained());
    const queued = onSocket(() => current().handler.handle(tunnel));
    connection?.receive(queued, true);
    socket.resume();
  };

  const server = current().tls === undefined ? createServer(bounds) : new HandshakingServer(bounds);
  // Node would drop header lines beyond a count in silence; the handler counts them instead.
  server.maxHeadersCount = 0;
  server.on(arrivalOf(server), open);
  server.on("request", receive(false));
  server.on("checkContinue", receive(true));
  server.on("checkExpectation", receive(false));
  server.on("connect", receiveTunnel);
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const failure = explainClientError(errorCodeOf(error));
    const connection = connections.get(socket);
    if (failure === undefined || connection === undefined) socket.destroy();
    else if (failure.code === "request_timeout") void connection.failUnlessReceived(failure);
    else connection.fail(failure);
  });
  if (isTls(server)) reportHandshakes(server, name, report, current().settings.clock);

  const renew = () => {
    const { tls, settings } = current();
    if (isTls(server) && tls !== undefined) {
      server.setSecureContext(secureContextOf(tls));
      // A handshake under way may still end by the authorities of before.
      if (tls.ca !== authorities) trustedFromMs = settings.clock.nowMs() + handshakeTimeoutMs;
      authorities = tls.ca;
    }
    server.maxConnections = settings.connections * 2;
  };
  renew();
  return {
    server,
    renew,
    get open() {
      return connections.size;
    },
    get accepted() {
      return accepted;
    },
    closeIdle(sinceMs) {
      for (const connection of connections.values()) connection.closeIfIdle(sinceMs);
    },
  };
}

/** A request that is answered on the bare socket. */
function onSocket(serve: () => Promise<void>): QueuedRequest {
  return { awaitsContinue: false, serve, breakOff() {}, drained() {} };
}

/**
 * Node's parser takes the end of such a request for the end of HTTP and drops what it has read beyond; what it reads later,
 * even the middle of a body, would begin a new request.
 */
function wantsUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? "");
}

/** The parser also reads versions that are not spoken on such a connection (RFC 9112 section 2.3). */
function explainVersion({ httpVersion, socket }: IncomingMessage): ProxyError | undefined {
  if (httpVersion === "1.1" || (httpVersion === "1.0" && canBeReset(socket))) return undefined;
  const what =
    httpVersion === "1.0"
      ? // Neither a reset nor a missing chunk could show that a response was cut.
        "HTTP/1.0 is not taken on a Unix socket; send HTTP/1.1 (in nginx: proxy_http_version 1.1)."
      : `HTTP/${httpVersion} is not spoken here; send HTTP/1.1.`;
  return new ProxyError("malformed_request", what, { causedBy: `HTTP/${httpVersion}` });
}

function tooManyConnections({ connections }: ListenerSettings): ProxyError {
  return new ProxyError("overloaded", `${connections} connections are open, which is the limit (limits.connections).`, {
    retryAfterMs,
    causedBy: "limits.connections",
  });
}

/** What Node's parser or its timers made of a connection, as a failure; undefined when the client has closed it. */
function explainClientError(code = ""): ProxyError | undefined {
  switch (code) {
    case "ECONNRESET":
    case "EPIPE":
    case "ECONNABORTED":
      return undefined;
    case "HPE_HEADER_OVERFLOW":
      return new ProxyError("headers_too_large", "The header section is longer than 16 KiB.", { causedBy: code });
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new ProxyError("request_timeout", "The request's head was not complete after 10 s.", { causedBy: "head" });
  }
  const causedBy = code.startsWith("HPE_") ? code : undefined;
  const hint = causedBy === undefined ? "" : ` (${causedBy})`;
  return new ProxyError("malformed_request", `The request is not well-formed HTTP/1.1${hint}.`, { causedBy });
}
