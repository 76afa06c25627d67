import { connect, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { listen } from "./listen.ts";

export interface ForwardProxyOptions {
  /** The hosts that the proxy reaches: a port on loopback for each `host:port`. Any other host gets 502. */
  readonly hosts?: Readonly<Record<string, string | number>>;
  /** The `user:password` that the proxy demands. Absent: it demands none. */
  readonly credentials?: string;
  /** TLS options, if the proxy speaks TLS with its clients. */
  readonly tls?: TlsOptions;
  /** Answers a CONNECT instead of a tunnel, or instead of its status line. Returns true if it has answered. */
  readonly onConnect?: (socket: Socket, number: number) => boolean;
  /** Called at each tunnel, before its first byte: client's side, host's side. */
  readonly onTunnel?: (client: Socket, host: Socket) => void;
  /** Called at each connection, before its first byte. */
  readonly accept?: (socket: Socket) => void;
  /** The proxy answers no request before this resolves. */
  readonly isReady?: Promise<void>;
  /** The answer to a CONNECT whose tunnel is open. */
  readonly established?: string;
}

export interface ForwardProxy {
  readonly url: string;
  readonly place: string;
  /** Heads of all requests, whole. */
  readonly heads: readonly string[];
  /** `host:port` of every CONNECT, in order of arrival. */
  readonly targets: () => readonly string[];
  /** Connections accepted so far. */
  readonly connections: () => number;
  /** Tunnels opened so far. */
  readonly tunnels: () => number;
  hosts: Readonly<Record<string, string | number>>;
  credentials: string | undefined;
}

/** A forward proxy that understands CONNECT, counts its requests, and fails as the options say. Ends with the test. */
export async function startForwardProxy(options: ForwardProxyOptions = {}): Promise<ForwardProxy> {
  const {
    tls,
    accept,
    onConnect,
    onTunnel,
    isReady,
    established = "HTTP/1.1 200 Connection established\r\n\r\n",
  } = options;
  const heads: string[] = [];
  let [connections, tunnels] = [0, 0];

  const serve = (socket: Socket) => {
    follow(socket);
    let text = "";
    const read = async (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (!text.includes("\r\n\r\n")) return;
      socket.off("data", read).pause();
      heads.push(text);
      await isReady;
      if (onConnect?.(socket, heads.length) !== true) open(socket, text);
    };
    socket.on("data", read);
    accept?.(socket);
  };
  const follow = (socket: Socket) => socket.on("error", () => socket.destroy());
  const open = (client: Socket, head: string) => {
    const wanted = proxy.credentials && `Basic ${Buffer.from(proxy.credentials).toString("base64")}`;
    if (wanted !== undefined && fieldOf(head, "proxy-authorization") !== wanted) {
      return void client.end('HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm="test"\r\nContent-Length: 0\r\n\r\n');
    }
    const port = proxy.hosts[targetOf(head)];
    if (port === undefined) return void client.end("HTTP/1.1 502 Unknown\r\nContent-Length: 0\r\n\r\n");
    const host = connect(Number(port), "127.0.0.1", () => {
      tunnels += 1;
      onTunnel?.(client, host);
      client.write(established, "latin1");
      client.pipe(host).pipe(client);
    });
    follow(host);
    client.on("close", () => host.destroy());
    host.on("close", () => client.destroy());
  };

  const server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  server.on("connection", (socket: Socket) => {
    connections += 1;
    if (tls !== undefined) follow(socket);
  });
  const port = await listen(server);
  const proxy = {
    url: tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`,
    place: tls === undefined ? `127.0.0.1:${port}` : `localhost:${port}`,
    heads,
    targets: () => heads.map(targetOf),
    connections: () => connections,
    tunnels: () => tunnels,
    hosts: options.hosts ?? {},
    credentials: options.credentials,
  };
  return proxy;
}

function targetOf(head: string): string {
  return /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head)?.[1] ?? "";
}

function fieldOf(head: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)\\r$`, "im").exec(head)?.[1];
}
