import { isIPv4, isIPv6 } from "node:net";

/**
 * Whether a Host header is `localhost` or an address, with or without a port. Any other name may be an attacker's that was
 * made to point here: with it, the page of a site that somebody visits could read this port (DNS rebinding). An address
 * cannot be pointed anywhere else.
 */
export function isOwnHost(host: string): boolean {
  const [, ipv6, name = ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(host) ?? [];
  return ipv6 === undefined ? name.toLowerCase() === "localhost" || isIPv4(name) : isIPv6(ipv6);
}
