import type { Socket } from "node:net";
import { ProxyError } from "../../model/errors.ts";
import type { Report } from "../../model/events.ts";
import type { CallersTls } from "../../model/listener.ts";
import type { StreamingRequest } from "../../pass-through/messages.ts";
import type { RequestHandler } from "../../proxy/handler.ts";
import type { Buffers } from "../../proxy/messages.ts";
import { createHttpDate } from "./answer.ts";
import { Connection } from "./connection.ts";
import { RequestHead } from "./request-reader.ts";
import { type RequestSettings, SocketRequest } from "./socket-request.ts";
import {
  createSocketServer,
  handshakeTimeoutMs,
  isTls,
  reportHandshakes,
  type SocketServer,
  secureContextOf,
} from "./tls.ts";

export interface ListenerSettings extends RequestSettings {
  /** `limits.connections`; those beyond get 503, unless one that waits for its caller gives way. */
  readonly connections: number;
  /** How many are accepted in all. Default: twice as many as are served. */
  readonly acceptedConnections?: number | undefined;
  /** One for all listeners. */
  readonly buffers: Buffers;
  /**
   * Responses have a length and may be lost, as those to probes: HTTP/1.0 is taken on a Unix socket, and each new connection
   * beyond those that are accepted takes the place of another one, at once.
   */
  readonly isReadOnly?: boolean;
  /** While requests have to wait: until when. */
  readonly held?: () => Promise<void> | undefined;
}

export interface Serving {
  readonly handler: RequestHandler<StreamingRequest>;
  readonly settings: ListenerSettings;
  /** Callers are authenticated by certificate. A listener stays with TLS or without, as it was made. */
  readonly tls?: CallersTls | undefined;
}

/** Which listener it is, for the log. */
export interface Binding {
  readonly name: string;
  readonly report: Report;
}

export interface Listener {
  readonly server: SocketServer;
  /** Connections that are open now; with TLS, those whose handshake is done. */
  readonly open: number;
  /** All connections that ever came. */
  readonly accepted: number;
  /** Closes connections on which nothing has happened since the moment given (monotonic). */
  closeIdle(sinceMs: number): void;
  /**
   * Takes over what is not read at each request: the limit of connections, and for new handshakes the certificate, its
   * key and the authorities. With other authorities, open connections end with their next response.
   * @throws when OpenSSL rejects them; then everything stays as it was
   */
  renew(): void;
}

const retryAfterMs = 1_000;
/** A connection whose caller has been waited for so long gives way to a new one. A busy caller sends within this time. */
const quietMs = 1_000;
/** Stands for a head that could not be read. */
const noHead = new RequestHead("", "", "1.1", [], 0);

/**
 * A server for applications. It reads and frames (connection.ts); every decision is the handler's. Framing is never forwarded:
 * the handler sees a target, header lines and a whole body.
 * @param current asked at each connection and at each request, so that a running listener can be given another serving
 */
export function createListener(current: () => Serving, { name, report }: Binding): Listener {
  const { clock } = current().settings;
  const date = createHttpDate(clock);
  const connections = new Set<Connection>();
  /** Those of them that have one of the places of `limits.connections`. */
  const placed = new Set<Connection>();
  let accepted = 0;
  let authorities = current().tls?.ca;
  /**
   * An earlier connection may depend on an authority that has been removed: it gets one response and has to connect
   * again.
   */
  let trustedFromMs = Number.NEGATIVE_INFINITY;

  const answer = (request: SocketRequest, refusal: Error | undefined): Promise<void> => {
    const { handler } = current();
    return refusal === undefined ? handler.handle(request) : handler.refuse(request, refusal);
  };
  const serve = (request: SocketRequest, refusal: Error | undefined): Promise<void> => {
    const held = current().settings.held?.();
    return held === undefined ? answer(request, refusal) : held.then(() => answer(request, refusal));
  };
  /** @returns whether one of these, which waits for its caller, has given way to a new one of this owner */
  const makeRoom = (places: ReadonlySet<Connection>, owner: string, quietMs: number): boolean => {
    const found = longestWaiting(places, owner, clock.nowMs() - quietMs);
    if (found === undefined) return false;
    forget(found);
    found.giveWay(tooManyConnections(current().settings.connections));
    return true;
  };
  /** One that waits, or else any. */
  const replaceOne = (owner: string) => {
    const sinceArrival = ({ arrivedAtMs }: Connection) => arrivedAtMs;
    const found = longestWaiting(connections, owner) ?? longestWaiting(connections, owner, undefined, sinceArrival);
    if (found === undefined) return;
    forget(found);
    found.socket.destroy();
  };
  const forget = (connection: Connection) => {
    connections.delete(connection);
    placed.delete(connection);
  };
  /**
   * A connection takes a place when it comes, or else with its request.
   * @returns false where none is free
   */
  const takePlace = (connection: Connection): boolean => {
    if (placed.has(connection)) return true;
    const isFull = placed.size >= current().settings.connections;
    if (isFull && !makeRoom(placed, connection.owner, quietMs)) return false;
    placed.add(connection);
    return true;
  };
  const open = (socket: Socket) => {
    const receive = (read: RequestHead | Error): SocketRequest => {
      const { settings } = current();
      const isRequest = read instanceof RequestHead;
      const head = isRequest ? read : noHead;
      const isExcess = isRequest && !takePlace(connection);
      const refusal = isRequest ? refusalOf(head, connection, settings, isExcess) : read;
      const isLast = refusal !== undefined || head.closes || head.leavesHttp || connection.arrivedAtMs < trustedFromMs;
      return new SocketRequest(connection, head, {
        settings,
        date,
        isLast,
        serve: (request) => serve(request, refusal),
      });
    };
    const { buffers, isReadOnly } = current().settings;
    const connection = new Connection(socket, clock, buffers, receive);
    accepted += 1;
    // One place stays free: beyond it a connection would be closed without an answer.
    if (connections.size + 1 >= server.maxConnections) {
      if (isReadOnly) replaceOne(connection.owner);
      else makeRoom(connections, connection.owner, 0);
    }
    connections.add(connection);
    takePlace(connection);
    socket.once("close", () => forget(connection));
  };

  const server = createSocketServer(current().tls !== undefined, open);
  if (isTls(server)) reportHandshakes(server, name, report, clock);

  const renew = () => {
    const { tls, settings } = current();
    if (isTls(server) && tls !== undefined) {
      server.setSecureContext(secureContextOf(tls));
      // A handshake that has begun may still use the former authorities.
      if (tls.ca !== authorities) trustedFromMs = clock.nowMs() + handshakeTimeoutMs;
      authorities = tls.ca;
    }
    server.maxConnections = settings.acceptedConnections ?? settings.connections * 2;
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
      for (const connection of connections) connection.closeIfIdle(sinceMs);
    },
  };
}

/** @param isExcess whether its connection is beyond `limits.connections` */
function refusalOf(
  { version }: RequestHead,
  { canBeReset }: Connection,
  { connections, isReadOnly = false }: ListenerSettings,
  isExcess: boolean,
): ProxyError | undefined {
  if (isExcess) return tooManyConnections(connections);
  if (version === "1.1" || (version === "1.0" && (canBeReset || isReadOnly))) return undefined;
  const what =
    version === "1.0"
      ? // Neither a reset nor a missing chunk could show that a response was cut.
        "HTTP/1.0 is not taken on a Unix socket; send HTTP/1.1 (in nginx: proxy_http_version 1.1)."
      : `HTTP/${version} is not spoken here; send HTTP/1.1.`;
  return new ProxyError("malformed_request", what, { causedBy: `HTTP/${version}` });
}

function tooManyConnections(connections: number): ProxyError {
  return new ProxyError("overloaded", `${connections} connections are open, which is the limit (limits.connections).`, {
    retryAfterMs,
    causedBy: "limits.connections",
  });
}

/** What decides whether a connection gives way to another one. */
type Place = Pick<Connection, "owner" | "waitsSince">;

/**
 * Which connection gives way to a new one: of the owner that has most, the one that has waited the longest. So a crowd of idle or
 * slow connections shuts out nobody but those of the same owner.
 * @param owner of the new one: nobody who has less gives way to it
 * @param before one that has waited since then or later stays
 */
export function longestWaiting<Each extends Place>(
  places: ReadonlySet<Each> | readonly Each[],
  owner: string,
  before = Number.POSITIVE_INFINITY,
  sinceOf = ({ waitsSince }: Each) => waitsSince,
): Each | undefined {
  const counts = new Map([[owner, 1]]);
  for (const each of places) counts.set(each.owner, (counts.get(each.owner) ?? 0) + 1);
  let found: Each | undefined;
  let sinceOfFound = before;
  let countOfFound = counts.get(owner) ?? 0;
  for (const each of places) {
    const since = sinceOf(each) ?? before;
    const count = counts.get(each.owner) ?? 0;
    if (since >= before || count < countOfFound || (count === countOfFound && since >= sinceOfFound)) continue;
    found = each;
    sinceOfFound = since;
    countOfFound = count;
  }
  return found;
}
