import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { PassThroughRoute } from "../../src/model/environment.ts";
import { listen } from "../listen.ts";
import { ask, RawConnection } from "../raw-caller.ts";
import { type RawBehaviour, startRawUpstream } from "../raw-upstream.ts";
import { type StageOptions, startStage } from "./start.ts";

/** A route below which everything may be read and written, over WebSocket as well. */
export const files: PassThroughRoute = {
  prefix: "/files/",
  upstreamPrefix: "/json-api/files/",
  methods: new Set(["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"]),
  site: undefined,
  upgrade: "websocket",
  idleMs: 5_000,
};

export type RouteOptions = StageOptions & { readonly route?: Partial<PassThroughRoute> };

/** One route to the service at this address, and a caller's connection whose bytes the test writes. `send` uses a new connection for each request. */
export async function routeTo(baseUrl: string, { route = {}, ...options }: RouteOptions = {}) {
  const environment = { passThrough: [{ ...files, ...route }], ...options.environment };
  const staged = await startStage({ ...options, environment, baseUrl: `${baseUrl}/json-api` });
  return {
    ...staged,
    send: (...request: Parameters<typeof rawRequest>) => ask(staged.port, rawRequest(...request)),
    caller: await RawConnection.open(staged.port),
  };
}

/** The same before a service whose bytes the test writes. */
export async function route(behaviour: RawBehaviour | string, options: RouteOptions = {}) {
  const upstream = await startRawUpstream(typeof behaviour === "string" ? { answer: behaviour } : behaviour);
  return { ...(await routeTo(upstream.url, options)), upstream };
}

/** The same before a service by Node's own server. */
export async function routeToServer(serve: RequestListener, options: RouteOptions = {}) {
  const service = await startService(serve);
  return { ...(await routeTo(service.url, options)), service };
}

/** A service by Node's own server. Ends with the test. */
export async function startService(serve: RequestListener) {
  const requests: IncomingMessage[] = [];
  const open = new Set<Socket>();
  const server = createServer((request, response) => {
    requests.push(request);
    serve(request, response);
  });
  server.on("connection", (socket) => {
    open.add(socket);
    socket
      .on("error", () => {})
      .on("close", () => {
        open.delete(socket);
        server.emit("gone");
      });
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    /** Connections that are open now. */
    open,
    async whenAsked() {
      if (requests.length === 0) await once(server, "request");
    },
    async allClosed() {
      while (open.size > 0) await once(server, "gone");
    },
  };
}

export const asking = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Key: abc",
  "Sec-WebSocket-Version: 13",
];
export const handshake = `GET /files/live HTTP/1.1\r\nHost: 127.0.0.1\r\n${asking.join("\r\n")}\r\n\r\n`;

/** A caller that has asked to switch to WebSocket, and a service that switches and then does what `talk` says. */
export async function webSocket(talk: (socket: Duplex) => void, options: RouteOptions = {}) {
  const server = createServer();
  const sockets: Duplex[] = [];
  server.on("upgrade", (request, socket) => {
    sockets.push(socket.on("error", () => {}));
    const accept = createHash("sha1").update(String(request.headers["sec-websocket-key"])).digest("base64");
    const head = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
    socket.write(
      `${[...head, `Sec-WebSocket-Accept: ${accept}`, `X-Token: ${request.headers.authorization}`].join("\r\n")}\r\n\r\n`,
    );
    talk(socket);
  });
  const port = await listen(server);
  const staged = await routeTo(`http://127.0.0.1:${port}`, options);
  staged.caller.write(handshake);
  return { ...staged, sockets };
}

/** The bytes of a request on a connection that ends with its answer. */
export function rawRequest(line: string, headers: readonly string[] = [], body = ""): string {
  return `${[`${line} HTTP/1.1`, "Host: 127.0.0.1", "Connection: close", ...headers].join("\r\n")}\r\n\r\n${body}`;
}
