import type { Socket } from "node:net";
import { createSecureContext, type SecureContext } from "node:tls";
import { buildConnector, Pool } from "undici";
import type { Address, Tls } from "../../model/environment.ts";
import { watchConnections } from "./watch-connection.ts";

export type { Pool } from "undici";

/** How connections to one host are made. TLS is always verified; there is no switch to turn that off. */
export interface PoolSettings {
  readonly address: Address;
  readonly tls: Tls;
  /** `timeouts.connect`, name look-up and TLS handshake included. */
  readonly connectTimeoutMs: number;
  /** The most connections at once. */
  readonly connections: number;
}

/**
 * Idle connections are closed before most servers close theirs (5 s and more), so that a request rarely meets a
 * connection that is about to vanish.
 */
const keepAliveTimeoutMs = 4_000;
const longestKeepAliveMs = 60_000;
/** Undici shortens a server's own Keep-Alive hint by this much. */
const keepAliveMarginMs = 1_000;

/** Undici's own timeouts are off: the request's deadline, which only we know, rules them all. */
export function openPool({ address, tls, connectTimeoutMs, connections }: PoolSettings): Pool {
  return new Pool(address.origin, {
    connections,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveTimeoutMs,
    keepAliveMaxTimeout: longestKeepAliveMs,
    keepAliveTimeoutThreshold: keepAliveMarginMs,
    allowH2: false,
    connect: watchConnections(createConnector(tls, connectTimeoutMs)),
  });
}

/** Opens one connection. Undici returns the socket before it is connected, which its type leaves out. */
export type Connector = (...given: Parameters<buildConnector.connector>) => Socket;

/** How every connection to a host is made. TLS is always verified. */
export function createConnector(tls: Tls, timeoutMs: number): Connector {
  const secureContext = trustOf(tls);
  return buildConnector({ allowH2: false, timeout: timeoutMs, rejectUnauthorized: true, secureContext }) as Connector;
}

/** Made once for all connections: reading the authorities of a whole system blocks for 20 ms and more each time. */
function trustOf({ ca, cert, key }: Tls): SecureContext {
  return createSecureContext({
    minVersion: "TLSv1.2",
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key: key.reveal() }),
  });
}
