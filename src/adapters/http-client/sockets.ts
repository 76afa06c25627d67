import { isIP, connect as netConnect, type OnReadOpts, type Socket } from "node:net";
import { type ConnectionOptions, createSecureContext, type SecureContext, connect as tlsConnect } from "node:tls";
import { type Address, type Tls, withoutBrackets } from "../../model/environment.ts";

/** TCP keep-alive, which finds a peer that vanished. */
const keepAliveInitialDelayMs = 60_000;

/** How one socket is made: what reads it in place of its stream, and for TLS the connection below it. */
export interface Opening {
  readonly onread?: OnReadOpts;
  readonly socket?: Socket;
}

/** Makes a socket that connects to one host. */
export type Open = (opening: Opening) => Socket;

/** The event by which such a socket says that it is ready. */
export function readyEventOf({ scheme }: Address): "connect" | "secureConnect" {
  return scheme === "https" ? "secureConnect" : "connect";
}

/** TLS is always verified; its last session is resumed. */
export function createOpen({ scheme, host, port }: Address, tls: Tls): Open {
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
  return createSecureContext({
    minVersion: "TLSv1.2",
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key: key.reveal() }),
  });
}
