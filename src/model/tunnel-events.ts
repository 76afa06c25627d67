export const tunnelResults = ["opened", "unauthorized", "refused", "malformed", "timed_out", "failed"] as const;
/**
 * What came of one CONNECT. `unauthorized`: 407. `refused`: another status than 2xx. `malformed`: no answer in HTTP/1.1.
 * `timed_out`: not within `timeouts.connect`. `failed`: no connection to the proxy, or it broke.
 */
export type TunnelResult = (typeof tunnelResults)[number];

/** A forward proxy was asked for a tunnel to a host of the environment. */
export interface TunnelRequested {
  readonly kind: "tunnel_requested";
  readonly environment: string;
  /** `host:port` of the proxy. */
  readonly proxy: string;
  /** `host:port` that it should lead to. */
  readonly destination: string;
  readonly result: TunnelResult;
  /** Why it does not stand, e.g. `PROXY_STATUS_407`. */
  readonly cause?: string | undefined;
  /** From the attempt to connect to the proxy. */
  readonly durationMs: number;
  /** A failure that is the first of its kind for a minute. */
  readonly isFirst: boolean;
}
