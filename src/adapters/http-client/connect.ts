import { isIP, connect as netConnect, type OnReadOpts, type Socket } from "node:net";
import { type ConnectionOptions, createSecureContext, type SecureContext, connect as tlsConnect } from "node:tls";
import { type Address, type Tls, withoutBrackets } from "../../model/environment.ts";

/** Each connection reads into one buffer of its own: most responses fit, and come in one read. */
const readBufferBytes = 65_536;
/** TCP keep-alive, which finds a peer that vanished. */
const keepAliveInitialDelayMs = 60_000;

/** Told of all bytes that arrive: the first `length` of the buffer, until it returns. False stops reading. */
export type OnRead = (length: number, bytes: Buffer) => boolean;

/** Begins to connect. Without `onRead` the socket streams, as any other. */
export type Connect = (onRead?: OnRead) => Socket;

/** The event by which a socket says that it is ready. */
export type ReadyEvent = "connect" | "secureConnect";

export function readyEventOf({ scheme }: Address): ReadyEvent {
  return scheme === "https" ? "secureConnect" : "connect";
}

/** How every connection to one host is made. TLS is always verified; its last session is resumed. */
export function createConnect({ scheme, host, port }: Address, tls: Tls): Connect {
  const name = withoutBrackets(host);
  const open =
    scheme === "https" ? createTlsConnect({ host: name, port, tls }) : createTcpConnect({ host: name, port });
  return (onRead) => {
    const socket = open(onRead === undefined ? {} : { onread: readInto(onRead) });
    return socket.setNoDelay(true).setKeepAlive(true, keepAliveInitialDelayMs);
  };
}

function readInto(onRead: OnRead): OnReadOpts {
  const buffer = Buffer.allocUnsafeSlow(readBufferBytes);
  return { buffer, callback: (length) => onRead(length, buffer) };
}

type Open = (reading: { readonly onread?: OnReadOpts }) => Socket;

function createTcpConnect(to: { readonly host: string; readonly port: number }): Open {
  return (reading) => netConnect({ ...to, ...reading });
}

function createTlsConnect({
  host,
  port,
  tls,
}: {
  readonly host: string;
  readonly port: number;
  readonly tls: Tls;
}): Open {
  const options = {
    host,
    port,
    secureContext: createTrust(tls),
    rejectUnauthorized: true,
    ALPNProtocols: ["http/1.1"],
  };
  // An address is no server name (RFC 6066 section 3).
  const verified: ConnectionOptions = isIP(host) === 0 ? { ...options, servername: host } : options;
  let session: Buffer | undefined;
  return (reading) => {
    // Node's documentation names `onread` here too; its types do not.
    const opened: ConnectionOptions = { ...verified, session, ...reading };
    // Node tells of a session once the server is verified.
    return tlsConnect(opened).on("session", (next) => {
      session = next;
    });
  };
}

/** Made once for all connections: reading the authorities of a whole system blocks for 20 ms and more each time. */
export function createTrust({ ca, cert, key }: Tls): SecureContext {
  return createSecureContext({
    minVersion: "TLSv1.2",
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key: key.reveal() }),
  });
}
