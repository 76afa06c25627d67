import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { CallersTls } from "../../callers.ts";
import { ProxyError } from "../../errors.ts";
import type { Report } from "../../events.ts";
import type { Journey } from "../../journey/handle.ts";
import { explainClientError } from "./client-error.ts";
import {
  arrivalOf,
  HandshakingServer,
  handshakeTimeoutMs,
  isTls,
  reportHandshakes,
  secureContextOf,
} from "./handshakes.ts";
import { type Exchanges, type InboundSettings, NodeInbound, pairUp } from "./node-inbound.ts";
import { callerOnSocket } from "./raw-reply.ts";

export interface ListenerSettings extends InboundSettings {
  /** `limits.connections`; those beyond get 503, and those beyond twice as many are not taken at all. */
  readonly connections: number;
  /** While requests have to wait: until when. */
  readonly held?: () => Promise<void> | undefined;
}

/** What a listener serves with. */
export interface Serving {
  readonly journey: Journey;
  readonly settings: ListenerSettings;
  /** Callers prove themselves by certificate. A listener stays with TLS or without, as it was made. */
  readonly tls?: CallersTls | undefined;
}

/** Which listener it is, for those who read the log. */
export interface Place {
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
export function createListener(current: () => Serving, place: Place): Listener {
  const exchangesOn = new WeakMap<Duplex, Exchanges>();
  const refused = new WeakSet<Duplex>();
  const excess = new WeakSet<Duplex>();
  /** When a connection was there (monotonic); with TLS, when its handshake was done. */
  const arrivedAtMs = new WeakMap<Duplex, number>();
  let authorities = current().tls?.ca;
  /** Who arrived earlier may have a certificate of an authority that counts no more: one answer, and it has to show another. */
  let trustedFromMs = Number.NEGATIVE_INFINITY;
  let connections = 0;

  const receive = (wantsContinue: boolean) => async (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const exchanges = exchangesOn.get(socket) ?? { unanswered: new Set(), isClosing: false };
    exchangesOn.set(socket, exchanges);
    // After an answer that closes the connection nothing on it is served any more (RFC 9112 section 9.6).
    if (exchanges.isClosing) return;
    // Behind a request that awaits 100 Continue may come its body or the next request (RFC 9110 section 10.1.1): not served.
    const unsure = [...exchanges.unanswered].find(({ awaitsContinue }) => awaitsContinue);
    if (unsure !== undefined) return unsure.closeAfterThis();
    const { journey, settings } = current();
    const inbound = new NodeInbound(request, response, settings, wantsContinue, exchanges);
    exchanges.unanswered.add(inbound);
    const refusal = excess.has(socket) ? tooManyConnections(settings) : explainVersion(request);
    const isOutdated = (arrivedAtMs.get(socket) ?? 0) < trustedFromMs;
    if (refusal !== undefined || wantsUpgrade(request) || isOutdated) inbound.closeAfterThis();
    const held = settings.held?.();
    if (held !== undefined) await held;
    await (refusal === undefined ? journey.handle(inbound) : journey.refuse(inbound, refusal));
    exchanges.unanswered.delete(inbound);
  };

  const server = current().tls === undefined ? createServer(bounds) : new HandshakingServer(bounds);
  // Node would drop header lines beyond a count in silence; the journey counts them instead.
  server.maxHeadersCount = 0;
  server.on(arrivalOf(server), (socket: Duplex) => {
    arrivedAtMs.set(socket, current().settings.clock.nowMs());
    connections += 1;
    if (connections > current().settings.connections) excess.add(socket);
    socket.once("close", () => {
      connections -= 1;
    });
  });
  server.on("request", receive(false));
  server.on("checkContinue", receive(true));
  server.on("checkExpectation", receive(false));
  server.on("connect", (request: IncomingMessage, socket: Duplex) => {
    const { journey, settings } = current();
    socket.on("error", () => socket.destroy());
    const caller = callerOnSocket(socket, pairUp(request.rawHeaders), settings.clock);
    const readBody = () => Promise.resolve(new Uint8Array());
    void journey.handle({ ...caller, method: "CONNECT", target: request.url ?? "", readBody });
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const { journey, settings } = current();
    const failure = explainClientError(error);
    const inbound = [...(exchangesOn.get(socket)?.unanswered ?? [])].at(-1);
    if (failure === undefined || !arrivedAtMs.has(socket)) socket.destroy();
    else if (inbound !== undefined) inbound.breakOff(failure);
    else if (!refused.has(socket)) {
      refused.add(socket);
      void journey.refuse(callerOnSocket(socket, [], settings.clock), failure);
    }
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

/** The parser also reads versions that nobody speaks on such a connection (RFC 9112 section 2.3). */
function explainVersion({ httpVersion }: IncomingMessage): ProxyError | undefined {
  if (httpVersion === "1.1" || httpVersion === "1.0") return undefined;
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
