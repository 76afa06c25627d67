import type { ConnectSettings } from "../adapters/http-client/connect.ts";
import type { TunnelReport } from "../adapters/http-client/tunnel.ts";
import { fingerprintOf } from "../config/hash.ts";
import { type Clock, LogThrottle } from "../model/clock.ts";
import { type Address, type Environment, egressTo, placeOf } from "../model/environment.ts";
import type { Report } from "../model/events.ts";

/** How connections to a host of an environment are made, directly or through its forward proxy. */
export type ConnectSettingsOf = (
  environment: Environment,
  address: Address,
) => Omit<ConnectSettings, "connectTimeoutMs">;

/** The tunnels of all connections are reported, and the log has each failure once a minute. */
export function createConnectSettings(clock: Clock, report: Report): ConnectSettingsOf {
  const tunnelLog = new LogThrottle(clock);
  return (environment, address) => {
    const { name, tls } = environment;
    const egress = egressTo(environment, address);
    if (egress === undefined) return { address, tls };
    const about = { environment: name, proxy: placeOf(egress.proxy), destination: placeOf(address) };
    const onTunnel = (tunnel: TunnelReport) => {
      const isFirst = tunnel.cause !== undefined && tunnelLog.isFirst(`${name} ${tunnel.cause}`);
      report({ kind: "tunnel_requested", ...about, ...tunnel, isFirst });
    };
    return { address, tls, egress: { ...egress, onTunnel } };
  };
}

/** All that decides how a host of the environment is reached, for the key of a pool. */
export function connectionKeyOf(environment: Environment, address: Address): unknown[] {
  const { name, tls } = environment;
  const { proxy, tls: proxyTls, credentials } = egressTo(environment, address) ?? {};
  return [name, address.origin, fingerprintOf(tls), proxy?.origin, proxyTls, credentials];
}
