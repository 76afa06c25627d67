import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { CallersTls } from "../../model/callers.ts";
import { ProxyError } from "../../model/errors.ts";
import type { Report } from "../../model/events.ts";
import type { RequestHandler } from "../../proxy/handler.ts";
import { explainClientError } from "./client-error.ts";
import { type ClientRequestSettings, NodeClientRequest, pairUp } from "./client-request.ts";
import { Connection, type QueuedRequest } from "./connection.ts";
import { canBeReset } from "./cut-off.ts";
import {
  arrivalOf,
  HandshakingServer,
  handshakeTimeoutMs,
  isTls,
  reportHandshakes,
  secureContextOf,
} from "./handshakes.ts";
import { callerOnSocket } from "./raw-reply.ts";

export interface ListenerSettings extends ClientRequestSettings {
  /** `limits.connections`; those beyond get 503, and those beyond twice as many are not taken at all. */
  readonly connections: number;
  /** While requests have to wait: until when. */
  readonly held?: () => Promise<void> | undefined;
}

/** What a listener serves with. */
export interface Serving {
  readonly handler: RequestHandler;
  readonly settings: ListenerSettings;
  /** Callers prove themselves by certificate. A listener stays with TLS or without, as it was made. */
  readonly tls?: CallersTls | undefined;
}

/** Which listener it is, for those who read the log. */
export interface Binding {
  readonly name: string;
  readonly report: Report;
}

export interface Listener {
  readonly server: Server;
  /**
   * Takes over from the present serving what is not asked for at each request: the bound on connections, and for new
   * handshakes the certificate, its key and the authorities. With other authorities, open connections end with their
   * next answer.
   * @throws when OpenSSL will not have them; then everything stays as it was
   */
  renew(): void;
}

const headersTimeoutMs = 10_000;
const largestHeadBytes = 16_384;
const timeoutCheckMs = 500;
/** Longer than the pools of most clients, so that it is they who close idle connections. */
const keepAliveTimeoutMs = 75_000;
const retryAfterMs = 1_000;

const bounds: ServerOptions = {
  maxHeaderSize: largestHeadBytes,
  headersTimeout: headersTimeoutMs,
  requestTimeout: 0,
  connectionsCheckingInterval: timeoutCheckMs,
  keepAliveTimeout: keepAliveTimeoutMs,
  insecureHTTPParser: false,
  requireHostHeader: false,
};

/**
 * A server for applications. Node parses and frames; every decision is the journey's. Framing is never forwarded: the
 * journey sees a target, header lines and a whole body.
 * @param current asked at each connection and at each request, so that a running listener can be given another serving
 */
export function createListener(current: () => Serving, place: Binding): Listener {
  /** The open ones; with TLS, those whose handshake is done. */
  const connections = new Map<Duplex, Connection>();
  let authorities = current().tls?.ca;
  /** Who arrived earlier may have a certificate of an authority that counts no more: one answer, and it has to show another. */
  let trustedFromMs = Number.NEGATIVE_INFINITY;

  const serve = async (clientRequest: NodeClientRequest, refusal: ProxyError | undefined) => {
    const held = current().settings.held?.();
    if (held !== undefined) await held;
    const { handler } = current();
    await (refusal === undefined ? handler.handle(clientRequest) : handler.refuse(clientRequest, refusal));
  };
  const open = (socket: Duplex) => {
    const { settings } = current();
    const isExcess = connections.size >= settings.connections;
    const refuse = (failure: ProxyError) =>
      onSocket(() => current().handler.refuse(callerOnSocket(socket, [], settings.clock), failure));
    connections.set(
      socket,
      new Connection(socket, { isExcess, arrivedAtMs: settings.clock.nowMs() }, refuse, settings.clock),
    );
    socket.once("close", () => connections.delete(socket));
  };
  const receive = (wantsContinue: boolean) => (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const connection = connections.get(socket);
    if (connection === undefined) return;
    const { settings } = current();
    const refusal = connection.isExcess ? tooManyConnections(settings) : explainVersion(request);
    const node = { request, response, wantsContinue };
    const clientRequest = new NodeClientRequest(node, settings, connection, () => serve(clientRequest, refusal));
    const isOutdated = connection.arrivedAtMs < trustedFromMs;
    connection.receive(clientRequest, refusal !== undefined || wantsUpgrade(request) || isOutdated);
  };

  const server = current().tls === undefined ? createServer(bounds) : new HandshakingServer(bounds);
  // Node would drop header lines beyond a count in silence; the journey counts them instead.
  server.maxHeadersCount = 0;
  server.on(arrivalOf(server), open);
  server.on("request", receive(false));
  server.on("checkContinue", receive(true));
  server.on("checkExpectation", receive(false));
  server.on("connect", (request: IncomingMessage, socket: Duplex) => {
    const { settings } = current();
    const connection = connections.get(socket);
    const caller = callerOnSocket(socket, pairUp(request.rawHeaders), settings.clock);
    const readBody = () => Promise.resolve(new Uint8Array());
    const tunnel = { ...caller, method: "CONNECT", target: request.url ?? "", readBody };
    // Node has let go of the socket.
    socket.on("error", () => socket.destroy()).on("drain", () => connection?.drained());
    connection?.receive(
      onSocket(() => current().handler.handle(tunnel)),
      true,
    );
    socket.resume();
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const failure = explainClientError(error);
    const connection = connections.get(socket);
    if (failure === undefined || connection === undefined) socket.destroy();
    else if (failure.code === "request_timeout") void connection.failUnlessReceived(failure);
    else connection.fail(failure);
  });
  if (isTls(server)) reportHandshakes(server, place, current().settings.clock);

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
  return { server, renew };
}

/**
 * Node's parser takes the end of such a request for the end of HTTP and drops what it has read beyond; what it reads later,
 * be it the middle of a body, would begin a new request.
 */
function wantsUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? "");
}

/** A request that is answered on the bare socket. */
function onSocket(serve: () => Promise<void>): QueuedRequest {
  return { awaitsContinue: false, serve, breakOff() {}, drained() {} };
}

/** The parser also reads versions that nobody speaks on such a connection (RFC 9112 section 2.3). */
function explainVersion({ httpVersion, socket }: IncomingMessage): ProxyError | undefined {
  if (httpVersion === "1.1" || (httpVersion === "1.0" && canBeReset(socket))) return undefined;
  if (httpVersion === "1.0") {
    // Neither a reset nor a missing chunk could show that an answer was cut.
    const what = "HTTP/1.0 is not taken on a Unix socket; send HTTP/1.1 (in nginx: proxy_http_version 1.1).";
    return new ProxyError("malformed_request", what, { causedBy: "HTTP/1.0" });
  }
  return new ProxyError("malformed_request", `HTTP/${httpVersion} is not spoken here; send HTTP/1.1.`, {
    causedBy: `HTTP/${httpVersion}`,
  });
}

function tooManyConnections({ connections }: ListenerSettings): ProxyError {
  return new ProxyError("overloaded", `${connections} connections are open, which is the limit (limits.connections).`, {
    retryAfterMs,
    causedBy: "limits.connections",
  });
}
