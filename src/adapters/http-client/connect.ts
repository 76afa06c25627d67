import { isIP, connect as netConnect, type OnReadOpts, type Socket } from "node:net";
import { type ConnectionOptions, createSecureContext, type SecureContext, connect as tlsConnect } from "node:tls";
import type { Cancel, Clock } from "../../model/clock.ts";
import { closedCode, connectTimeoutCode, dnsTimeoutCode, proxyPrefix } from "../../model/connect-failure.ts";
import { type Address, type Egress, placeOf, type Tls, withoutBrackets } from "../../model/environment.ts";
import type { TunnelResult } from "../../model/events.ts";
import { ResponseReader } from "./response-reader.ts";
import { codeOf, MalformedResponse, TransportError } from "./transport-error.ts";

/** TCP keep-alive, which finds a peer that vanished. */
const keepAliveInitialDelayMs = 60_000;
/**
 * All connections read into this one buffer: most responses fit into one read. Nothing else runs between a read and its
 * `OnRead`: libuv reads into the buffer, or for TLS Node copies into it, and both then call back at once.
 */
const readBuffer = Buffer.allocUnsafeSlow(65_536);

/** Called with all bytes that arrive: the first `length` of the buffer. It must copy bytes that it keeps. False stops reading. */
export type OnRead = (length: number, bytes: Buffer) => boolean;

/** Called about a connection that is being made: `onReady` or `onFailed` once, unless the connection is destroyed first. */
export interface ConnectHandlers {
  /** The socket leads to the host, which is verified if it is https. */
  onReady(socket: Socket): void;
  /** The connection could not be made, or not in time. */
  onFailed(error: unknown): void;
  /** Called with each socket before it is connected: with a proxy's, then with the host's. */
  onSocket?(socket: Socket): void;
}

/** A connection, from the attempt to make it. It fails or closes with the socket that it follows. */
export class Transport {
  readonly #handlers: ConnectHandlers;
  readonly #cancelTimer: Cancel;
  #socket: Socket;
  #isLookingUp: boolean;
  #isSettled = false;

  /**
   * @param to where the socket connects to
   * @param timeoutMs until the connection is ready
   */
  constructor(socket: Socket, to: Address, handlers: ConnectHandlers, timeoutMs: number, clock: Clock) {
    this.#handlers = handlers;
    this.#isLookingUp = isIP(withoutBrackets(to.host)) === 0;
    socket.once("lookup", () => {
      this.#isLookingUp = false;
    });
    this.#cancelTimer = clock.after(timeoutMs, () =>
      this.fail(new TransportError(this.#isLookingUp ? dnsTimeoutCode : connectTimeoutCode)),
    );
    this.#socket = socket;
    this.follow(socket);
  }

  /** The present socket: to the host once the connection is ready, before that perhaps to a proxy. */
  get socket(): Socket {
    return this.#socket;
  }

  /** Replaces the present socket by this one. */
  follow(socket: Socket): Socket {
    this.#socket = socket;
    this.#handlers.onSocket?.(socket);
    return socket.on("error", (error) => this.fail(error)).on("close", () => this.fail(new TransportError(closedCode)));
  }

  succeed(): void {
    if (this.#settle()) this.#handlers.onReady(this.#socket);
  }

  fail(error: unknown): void {
    if (!this.#settle()) return;
    this.#socket.destroy();
    this.#handlers.onFailed(error);
  }

  /** Ends the connection at any stage, and calls no handler. */
  destroy(): void {
    this.#settle();
    this.#socket.destroy();
  }

  /** @returns false if it was settled before */
  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#cancelTimer();
    return true;
  }
}

/** Begins to connect. Without `onRead` the socket emits `data`. */
export type Connect = (handlers: ConnectHandlers, onRead?: OnRead) => Transport;

export interface ConnectSettings {
  readonly address: Address;
  /** Towards the host. */
  readonly tls: Tls;
  /** Name look-up, tunnel and TLS handshake included. */
  readonly connectTimeoutMs: number;
  /** Set if the host is reached through a proxy. */
  readonly egress?: TunnelSettings | undefined;
}

export interface TunnelReport {
  readonly result: TunnelResult;
  /** Why there is no tunnel: `PROXY_STATUS_407`, `PROXY_ECONNREFUSED`, … */
  readonly cause: string | undefined;
  /** From the attempt to connect to the proxy. */
  readonly durationMs: number;
}

export interface TunnelSettings extends Pick<Egress, "proxy" | "tls" | "credentials"> {
  readonly onTunnel?: (report: TunnelReport) => void;
}

/** Makes the function that opens every connection to one host. */
export function createConnect(settings: ConnectSettings, clock: Clock): Connect {
  const { address, tls, connectTimeoutMs, egress } = settings;
  const open = createOpen(address, tls);
  if (egress !== undefined) return createTunnelConnect({ ...settings, egress }, open, clock);
  const ready = readyEventOf(address);
  return (handlers, onRead) => {
    const onread = onRead && { buffer: readBuffer, callback: (length: number) => onRead(length, readBuffer) };
    const socket = open(onread === undefined ? {} : { onread });
    const transport = new Transport(socket, address, handlers, connectTimeoutMs, clock);
    socket.once(ready, () => transport.succeed());
    return transport;
  };
}

/**
 * Connects to the proxy, requests a tunnel, and speaks TLS with the host through the tunnel. So the host is verified as
 * without a proxy, and a failure before the tunnel is open is an error of the proxy.
 */
function createTunnelConnect(
  { address, connectTimeoutMs, egress }: ConnectSettings & { readonly egress: TunnelSettings },
  open: Open,
  clock: Clock,
): Connect {
  const { proxy, credentials, onTunnel = () => {} } = egress;
  const openToProxy = createOpen(proxy, egress.tls);
  const ready = readyEventOf(proxy);
  return (handlers, onRead) => {
    const sinceMs = clock.nowMs();
    let isOpened = false;
    const report = ({ result, cause }: Pick<TunnelReport, "result" | "cause">) =>
      onTunnel({ result, cause, durationMs: clock.nowMs() - sinceMs });
    const own: ConnectHandlers = {
      ...handlers,
      onReady(socket) {
        if (onRead !== undefined) readFrom(socket, onRead);
        handlers.onReady(socket);
      },
      onFailed(error) {
        if (isOpened) return handlers.onFailed(error);
        const proxyError = asProxyError(error);
        report({ result: tunnelResultOf(error), cause: proxyError.code });
        handlers.onFailed(proxyError);
      },
    };
    const socket = openToProxy({});
    const transport = new Transport(socket, proxy, own, connectTimeoutMs, clock);
    const onOpened = () => {
      isOpened = true;
      report({ result: "opened", cause: undefined });
      if (address.scheme === "http") transport.succeed();
      else transport.follow(open({ socket })).once("secureConnect", () => transport.succeed());
    };
    socket.once(ready, () => requestTunnel(socket, address, credentials, onOpened, (error) => transport.fail(error)));
    return transport;
  };
}

/**
 * Requests a tunnel on a connection to a proxy. Any 2xx opens it; the response's length and codings mean nothing (RFC 9110
 * section 9.3.6). The host cannot have sent bytes yet: with HTTP and TLS the client speaks first, so bytes behind the head
 * are the proxy's own.
 * @param onRefused gets a TransportError: `STATUS_407`, or the fault in a malformed response
 */
function requestTunnel(
  socket: Socket,
  address: Address,
  credentials: Egress["credentials"],
  onOpened: () => void,
  onRefused: (error: unknown) => void,
): void {
  const reader = new ResponseReader();
  reader.begin("CONNECT");
  // Not by `data`, which would leave the socket flowing or paused: its next user needs it like a new one.
  const read = () => {
    const bytes: Buffer | null = socket.read();
    if (bytes === null) return;
    try {
      const behindHead = reader.read(bytes, bytes.length);
      if (reader.phase === "head") return;
      socket.off("readable", read);
      if (reader.status >= 300) throw new TransportError(`${statusPrefix}${reader.status}`);
      if (behindHead !== undefined) throw new MalformedResponse("BYTES_BEHIND_HEAD");
    } catch (error) {
      return onRefused(error);
    }
    onOpened();
  };
  socket.on("readable", read).write(formatConnect(address, credentials), "latin1");
}

/** The whole request for a tunnel to this host. The port is always written (RFC 9112 section 3.2.3). */
function formatConnect(address: Address, credentials: Egress["credentials"]): string {
  const authority = placeOf(address);
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (credentials !== undefined) {
    lines.push(`Proxy-Authorization: Basic ${Buffer.from(credentials.reveal(), "utf8").toString("base64")}`);
  }
  return `${lines.join("\r\n")}\r\n\r\n`;
}

const statusPrefix = "STATUS_";

function tunnelResultOf(error: unknown): TunnelResult {
  const code = codeOf(error);
  if (error instanceof MalformedResponse) return "malformed";
  if (code === connectTimeoutCode) return "timed_out";
  if (code === `${statusPrefix}407`) return "unauthorized";
  return code.startsWith(statusPrefix) ? "refused" : "failed";
}

const shortCodes: Readonly<Record<string, string>> = { [closedCode]: "CLOSED", [connectTimeoutCode]: "TIMEOUT" };

/** The same error, with the code of a proxy's failure: `PROXY_ECONNREFUSED`. */
function asProxyError(error: unknown): TransportError {
  const code = codeOf(error);
  return new TransportError(`${proxyPrefix}${shortCodes[code] ?? code}`);
}

/** Reads by `data`: Node uses our buffer only for sockets that it opens itself, not for TLS on another socket. */
function readFrom(socket: Socket, onRead: OnRead): void {
  socket.on("data", (bytes) => {
    if (!onRead(bytes.length, bytes)) socket.pause();
  });
}

/** Options of one socket: the reader that replaces its stream, and for TLS the connection below it. */
interface Opening {
  readonly onread?: OnReadOpts;
  readonly socket?: Socket;
}

type Open = (opening: Opening) => Socket;

/** The event that a socket to this address emits when it is ready. */
function readyEventOf({ scheme }: Address): "connect" | "secureConnect" {
  return scheme === "https" ? "secureConnect" : "connect";
}

/** Makes the function that opens sockets to an address. TLS is always verified, and resumes its last session. */
function createOpen({ scheme, host, port }: Address, tls: Tls): Open {
  const to = { host: withoutBrackets(host), port };
  const open = scheme === "https" ? createTlsOpen(to, tls) : (opening: Opening) => netConnect({ ...to, ...opening });
  return (opening) => open(opening).setNoDelay(true).setKeepAlive(true, keepAliveInitialDelayMs);
}

function createTlsOpen(to: { readonly host: string; readonly port: number }, tls: Tls): Open {
  const options = { ...to, secureContext: createTrust(tls), rejectUnauthorized: true, ALPNProtocols: ["http/1.1"] };
  // An address is no server name, and a name is sent without its final dot (RFC 6066 section 3).
  const named = { ...options, servername: to.host.replace(/\.$/, "") };
  const verified: ConnectionOptions = isIP(to.host) === 0 ? named : options;
  let session: Buffer | undefined;
  return (opening) => {
    // Node's documentation names `onread` here too; its types do not.
    const opened: ConnectionOptions = { ...verified, session, ...opening };
    // Node emits a session once the server is verified.
    return tlsConnect(opened).on("session", (next) => {
      session = next;
    });
  };
}

/** Made once for all connections: reading the authorities of a whole system blocks for 20 ms and more each time. */
function createTrust({ ca, cert, key }: Tls): SecureContext {
  return createSecureContext({ minVersion: "TLSv1.2", ca, cert, key: key?.reveal() });
}
