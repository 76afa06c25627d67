import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";

/** PEM texts of a host that speaks TLS. */
export interface SimulatorTls {
  readonly key: string;
  readonly cert: string;
  /** The authorities whose client certificates are accepted. */
  readonly ca?: string;
  /** Demand a client certificate, and refuse clients without one. */
  readonly requestCert?: boolean;
}

/** One request, and the ways to break its connection. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** RST, beneath TLS too. */
  reset(): void;
  /** An orderly close, once all written bytes are sent. */
  close(): void;
}

export interface HostOptions {
  readonly host: string;
  /** 0: any free port; a restart uses the same port again. */
  readonly port: number;
  readonly tls: SimulatorTls | undefined;
  readonly keepAliveTimeoutMs: number;
  readonly serve: (exchange: Exchange) => Promise<void>;
}

/** A port that can be closed and opened again. */
export interface ListeningHost {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Connections accepted so far. */
  readonly connections: number;
  /** Connections that sent something other than HTTP/1.1. */
  readonly malformed: number;
  start(): Promise<void>;
  /** Refuses new connections and ends the open ones. */
  stop(): Promise<void>;
}

export async function startHost(options: HostOptions): Promise<ListeningHost> {
  const server = options.tls ? createTlsServer(tlsOptions(options.tls)) : createServer();
  const sockets = new Map<string, Socket>();
  let { port } = options;
  let connections = 0;
  let malformed = 0;

  server.keepAliveTimeout = options.keepAliveTimeoutMs;
  // By default Node silently drops header lines beyond 1,000.
  server.maxHeadersCount = 0;
  server.on("connection", (socket: Socket) => {
    const name = nameOf(socket);
    connections += 1;
    sockets.set(name, socket);
    socket.once("close", () => sockets.delete(name));
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!error.code?.startsWith("HPE_")) {
      socket.destroy();
      return;
    }
    malformed += 1;
    socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });
  server.on("request", (request, response) => {
    const { socket } = request;
    // A TLS socket cannot be reset; the TCP socket beneath it can, and has the same address.
    const wire = sockets.get(nameOf(socket)) ?? socket;
    const exchange = { request, response, reset: () => wire.resetAndDestroy(), close: () => socket.destroySoon() };
    options.serve(exchange).catch((error: unknown) => answerDefect(response, error));
  });

  const start = async () => {
    if (server.listening) return;
    await listen(server, port, options.host);
    port = (server.address() as AddressInfo).port;
  };
  await start();
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    origin: `${options.tls ? "https" : "http"}://${host}:${port}`,
    get connections() {
      return connections;
    },
    get malformed() {
      return malformed;
    },
    start,
    async stop() {
      if (!server.listening) return;
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets.values()) socket.destroy();
      await closed;
    },
  };
}

function tlsOptions({ key, cert, ca, requestCert = false }: SimulatorTls) {
  return { key, cert, ...(ca === undefined ? {} : { ca }), requestCert, rejectUnauthorized: requestCert };
}

function nameOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** A defect of the simulator must not look like the service. */
function answerDefect(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(500, { "content-type": "text/plain", connection: "close" });
  response.end(`defect in the simulator: ${error instanceof Error ? error.stack : String(error)}\n`);
}
