import { isIP, connect as netConnect, type OnReadOpts, type Socket } from "node:net";
import { type ConnectionOptions, createSecureContext, type SecureContext, connect as tlsConnect } from "node:tls";
import type { Cancel, Clock } from "../../model/clock.ts";
import { type Address, type Egress, placeOf, type Tls, withoutBrackets } from "../../model/environment.ts";
import type { TunnelResult } from "../../model/events.ts";
import { ResponseReader } from "./response-reader.ts";
import {
  closedCode,
  codeOf,
  connectTimeoutCode,
  dnsTimeoutCode,
  MalformedResponse,
  proxyPrefix,
  TransportError,
} from "./transport-error.ts";

/** TCP keep-alive, which finds a peer that vanished. */
const keepAliveInitialDelayMs = 60_000;
/**
 * All connections read into this one: most responses fit, and come in one read. Between a read and its `OnRead` nothing else
 * runs: libuv reads into it, or for TLS Node copies into it, and both then call back at once.
 */
const readBuffer = Buffer.allocUnsafeSlow(65_536);

/** Told of all bytes that arrive: the first `length` of the buffer. It copies what it keeps. False stops reading. */
export type OnRead = (length: number, bytes: Buffer) => boolean;

/** What becomes of a connection that is being made: one of the first two is called, once, unless it is destroyed before. */
export interface ConnectHandlers {
  /** It leads to the host, verified where that is https. */
  onReady(socket: Socket): void;
  /** It could not be made, or not in time. */
  onFailed(error: unknown): void;
  /** Told of each socket before it is connected: of a proxy's, then of the host's. */
  onSocket?(socket: Socket): void;
}

/** A connection from the attempt to make it on. What becomes of the socket that it follows becomes of it. */
export class Transport {
  readonly #handlers: ConnectHandlers;
  readonly #cancelTimer: Cancel;
  #socket: Socket;
  #isLookingUp: boolean;
  #isSettled = false;

  /**
   * @param to where the socket connects to
   * @param timeoutMs until it is ready
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

  /** Leads to the host once it is ready, and perhaps to a proxy before. */
  get socket(): Socket {
    return this.#socket;
  }

  /** This socket takes the place of the one before. */
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

  /** Ends it at whatever stage; no handler is called for that. */
  destroy(): void {
    this.#settle();
    this.#socket.destroy();
  }

  /** @returns false where it was settled before */
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
  /** Where the host is reached through a proxy. */
  readonly egress?: TunnelSettings | undefined;
}

export interface TunnelReport {
  readonly result: TunnelResult;
  /** Why it does not stand: `PROXY_STATUS_407`, `PROXY_ECONNREFUSED`, … */
  readonly cause: string | undefined;
  /** From the attempt to connect to the proxy. */
  readonly durationMs: number;
}

export interface TunnelSettings extends Pick<Egress, "proxy" | "tls" | "credentials"> {
  readonly onTunnel?: (report: TunnelReport) => void;
}

/** How every connection to one host is made. */
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
 * Connects to the proxy, asks it for a tunnel, and speaks TLS with the host through that. So the host is verified as without
 * a proxy, and what fails before the tunnel stands is an error of the proxy's.
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
 * Asks for a tunnel on a connection to a proxy. Any 2xx opens it; its length and codings mean nothing (RFC 9110 section
 * 9.3.6). Nothing has come through it then: with HTTP and TLS the client speaks first, so bytes behind the head are the
 * proxy's own.
 * @param onRefused gets a TransportError: `STATUS_407`, or what is malformed
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
  // Not by `data`, which would leave the socket flowing or paused: it is handed on as if it was new.
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

/** A request for a tunnel to this host, whole. The port is always written (RFC 9112 section 3.2.3). */
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

/** The same error as one of the proxy's: `PROXY_ECONNREFUSED`. */
function asProxyError(error: unknown): TransportError {
  const code = codeOf(error);
  return new TransportError(`${proxyPrefix}${shortCodes[code] ?? code}`);
}

/** Node reads into a buffer of ours only where the socket is its own. */
function readFrom(socket: Socket, onRead: OnRead): void {
  socket.on("data", (bytes) => {
    if (!onRead(bytes.length, bytes)) socket.pause();
  });
}

/** How one socket is made: what reads it in place of its stream, and for TLS the connection below it. */
interface Opening {
  readonly onread?: OnReadOpts;
  readonly socket?: Socket;
}

type Open = (opening: Opening) => Socket;

/** The event by which such a socket says that it is ready. */
function readyEventOf({ scheme }: Address): "connect" | "secureConnect" {
  return scheme === "https" ? "secureConnect" : "connect";
}

/** TLS is always verified; its last session is resumed. */
function createOpen({ scheme, host, port }: Address, tls: Tls): Open {
  const to = { host: withoutBrackets(host), port };
  const open = scheme === "https" ? createTlsOpen(to, tls) : (opening: Opening) => netConnect({ ...to, ...opening });
  return (opening) => open(opening).setNoDelay(true).setKeepAlive(true, keepAliveInitialDelayMs);
}

function createTlsOpen(to: { readonly host: string; readonly port: number }, tls: Tls): Open {
  const options = { ...to, secureContext: createTrust(tls), rejectUnauthorized: true, ALPNProtocols: ["http/1.1"] };
  // An address is no server name (RFC 6066 section 3).
  const verified: ConnectionOptions = isIP(to.host) === 0 ? { ...options, servername: to.host } : options;
  let session: Buffer | undefined;
  return (opening) => {
    // Node's documentation names `onread` here too; its types do not.
    const opened: ConnectionOptions = { ...verified, session, ...opening };
    // Node tells of a session once the server is verified.
    return tlsConnect(opened).on("session", (next) => {
      session = next;
    });
  };
}

/** Made once for all connections: reading the authorities of a whole system blocks for 20 ms and more each time. */
function createTrust({ ca, cert, key }: Tls): SecureContext {
  return createSecureContext({ minVersion: "TLSv1.2", ca, cert, key: key?.reveal() });
}
