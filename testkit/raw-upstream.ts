import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { listen } from "./listen.ts";

/** One request, as received. */
export interface RawRequest {
  /** 1 for the first request of the server. */
  readonly number: number;
  readonly head: string;
  readonly body: string;
}

export interface RawUpstream {
  /** `http://127.0.0.1:port`; over TLS `https://localhost:port`. */
  readonly url: string;
  readonly port: number;
  /** Connections accepted so far. */
  readonly connections: number;
  /** Complete requests, in order of arrival. */
  readonly requests: readonly RawRequest[];
  /** Connections with at least one received byte. */
  readonly spoken: number;
  /** Resolves when this many complete requests have arrived. */
  whenRequests(count: number): Promise<void>;
  /** Resolves when this many connections have been accepted. */
  whenConnections(count: number): Promise<void>;
  /** Refuses new connections; the open ones stay. */
  refuse(): void;
}

export interface RawBehaviour {
  /** The answer to a complete request: these bytes (latin1); these in turn, with the last repeated; or what the function writes. */
  readonly answer?: string | readonly string[] | ((request: RawRequest, socket: Socket) => void);
  /** Called at each connection, before its first byte. */
  readonly accept?: (socket: Socket) => void;
  /** Called at each chunk, with the number of bytes received on this connection so far. */
  readonly receive?: (bytes: number, socket: Socket) => void;
  /** TLS options, if the server speaks TLS. `spoken` and `requests` then count only what comes after the handshake. */
  readonly tls?: TlsOptions;
}

/** A TCP server that counts requests and answers with any bytes that the test writes. Ends with the test. */
export async function startRawUpstream({ answer = [], accept, receive, tls }: RawBehaviour = {}): Promise<RawUpstream> {
  const requests: RawRequest[] = [];
  let connections = 0;
  let spoken = 0;
  const inTurn = typeof answer === "string" ? [answer] : answer;
  const reply = (request: RawRequest, socket: Socket) => {
    if (typeof inTurn === "function") return inTurn(request, socket);
    const bytes = inTurn[request.number - 1] ?? inTurn.at(-1);
    if (bytes !== undefined) socket.write(bytes, "latin1");
  };
  const serve = (socket: Socket) => {
    socket.on("error", () => {});
    let received = 0;
    let text = "";
    socket.on("data", (chunk) => {
      if (received === 0) spoken += 1;
      received += chunk.length;
      receive?.(received, socket);
      text += chunk.toString("latin1");
      for (let taken = takeRequest(text); taken !== undefined; taken = takeRequest(text)) {
        text = taken.rest;
        const request = { number: requests.length + 1, head: taken.head, body: taken.body };
        requests.push(request);
        server.emit("counted");
        reply(request, socket);
      }
    });
  };
  const server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  server.on("connection", (socket: Socket) => {
    connections += 1;
    accept?.(socket);
    server.emit("counted");
  });
  server.setMaxListeners(0);
  const port = await listen(server);
  const until = async (isReached: () => boolean) => {
    while (!isReached()) await once(server, "counted");
  };
  return {
    url: tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`,
    port,
    requests,
    get connections() {
      return connections;
    },
    get spoken() {
      return spoken;
    },
    whenRequests: (count) => until(() => requests.length >= count),
    whenConnections: (count) => until(() => connections >= count),
    refuse: () => void server.close(),
  };
}

/** Requests of Countersign always have a Content-Length. */
function takeRequest(text: string): { head: string; body: string; rest: string } | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const head = text.slice(0, end);
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
  const body = text.slice(end + 4, end + 4 + length);
  return body.length < length ? undefined : { head, body, rest: text.slice(end + 4 + length) };
}

/** An answer's bytes, with a Content-Length. */
export function rawAnswer(status: number, body = "", headers = ""): string {
  return `HTTP/1.1 ${status} Whatever\r\n${headers}Content-Length: ${Buffer.byteLength(body, "latin1")}\r\n\r\n${body}`;
}

/** An authorization server's answer: a token for an hour. */
export const granted = rawAnswer(200, '{"access_token":"canary-token","token_type":"Bearer","expires_in":3600}');
