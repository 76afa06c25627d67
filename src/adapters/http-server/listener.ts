import type { Socket } from "node:net";
import { ProxyError } from "../../model/errors.ts";
import type { Report } from "../../model/events.ts";
import type { CallersTls } from "../../model/listener.ts";
import type { StreamingRequest } from "../../pass-through/messages.ts";
import type { Buffers, RequestHandler } from "../../serving/messages.ts";
import { createHttpDate } from "./answer.ts";
import { Connection } from "./connection.ts";
import { RequestHead } from "./request-reader.ts";
import { type RequestSettings, SocketRequest } from "./socket-request.ts";
import {
  createSocketServer,
  type Handshake,
  handshakeTimeoutMs,
  isTls,
  reportHandshakes,
  type SocketServer,
  secureContextOf,
} from "./tls.ts";

export interface ListenerSettings extends RequestSettings {
  /** `limits.connections`; further ones get 503, unless a connection that waits for its caller gives way. */
  readonly connections: number;
  /** How many connections are accepted in all. Default: twice `connections`. */
  readonly acceptedConnections?: number | undefined;
  /** One for all listeners. */
  readonly buffers: Buffers;
  /**
   * Responses have a length and may be lost, like those to probes. So HTTP/1.0 is accepted on a Unix socket too, and a new
   * connection beyond `acceptedConnections` replaces another one at once.
   */
  readonly isReadOnly?: boolean;
  /** While requests have to wait: resolves at the end of the wait. */
  readonly held?: () => Promise<void> | undefined;
}

export interface Serving {
  readonly handler: RequestHandler<StreamingRequest>;
  readonly settings: ListenerSettings;
  /** If set, callers are authenticated by certificate. A running listener cannot switch TLS on or off. */
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
  /** Closes connections that have been idle since this moment (monotonic). */
  closeIdle(sinceMs: number): void;
  /** Refuses the requests that have begun to come, and of which a part is missing. */
  refuseUnread(refusal: ProxyError): void;
  /** Resets the connections whose close would make a part of an answer look whole. */
  cutAnswers(): Promise<void>;
  /**
   * Applies settings that are not read at each request: the limit of connections, and for new handshakes the certificate, its
   * key and the authorities. If the authorities change, open connections end with their next response.
   * @throws if OpenSSL rejects the TLS files; then nothing changes
   */
  renew(): void;
}

const retryAfterMs = 1_000;
/** A connection that has waited this long for its caller gives way to a new one. A busy caller sends within this time. */
const quietMs = 1_000;
/** Stands for a head that could not be read. */
const noHead = new RequestHead("", "", "1.1", [], 0);

/**
 * A server for applications. It reads and frames (connection.ts); every decision is the handler's. Framing is never forwarded:
 * the handler sees a target, header lines and a body.
 * @param current called at each connection and at each request, so that a running listener can get another `Serving`
 */
export function createListener(current: () => Serving, { name, report }: Binding): Listener {
  const { clock } = current().settings;
  const date = createHttpDate(clock);
  const connections = new Set<Connection>();
  /** The connections that have one of the places of `limits.connections`. */
  const placed = new Set<Connection>();
  let accepted = 0;
  let authorities = current().tls?.ca;
  /**
   * A connection that arrived earlier may depend on an authority that has been removed: it gets one response, and its caller
   * has to connect again.
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
  /** @returns whether one of `places`, waiting for its caller, has given way to a new connection of this owner */
  const makeRoom = (places: Places<Connection | Handshake>, owner: string, quietMs: number): boolean => {
    const found = longestWaiting(places, owner, clock.nowMs() - quietMs);
    if (found === undefined) return false;
    if (found instanceof Connection) forget(found);
    found.giveWay(tooManyConnections(current().settings.connections));
    return true;
  };
  /** Replaces a connection that waits for its caller, or else any. */
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
   * A connection takes a place when it is opened, or else at a request.
   * @returns false if no place is free
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
    const connection = new Connection(socket, clock, current().settings.buffers, receive);
    accepted += 1;
    connections.add(connection);
    takePlace(connection);
    socket.once("close", () => forget(connection));
  };

  const server = createSocketServer({
    hasTls: current().tls !== undefined,
    clock,
    makeRoom(owner, handshakes) {
      if (current().settings.isReadOnly) replaceOne(owner);
      else makeRoom([...connections, ...handshakes], owner, 0);
    },
    onConnection: open,
  });
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
    refuseUnread(refusal) {
      for (const connection of connections) connection.refuseUnread(refusal);
    },
    async cutAnswers() {
      const cut = [...connections].filter(({ closeEndsResponse }) => closeEndsResponse);
      await Promise.all(cut.map((connection) => connection.reset()));
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
  const setting = "limits.connections";
  const what = `As many connections are open as may be: ${connections} (${setting}). Connect again in a second.`;
  return new ProxyError("overloaded", what, { retryAfterMs, causedBy: setting });
}

/** The properties that decide whether a connection gives way to another one. */
type Place = Pick<Connection, "owner" | "waitsSince">;
type Places<Each> = ReadonlySet<Each> | readonly Each[];

/**
 * The connection that gives way to a new one: of the owner with the most connections, the one that has waited longest. So a
 * crowd of idle or slow connections shuts out only connections of its own owner.
 * @param owner of the new connection: no owner with fewer connections gives way to it
 * @param before a connection that has waited since this moment or later stays
 */
export function longestWaiting<Each extends Place>(
  places: Places<Each>,
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
