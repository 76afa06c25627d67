import { isIPv4, isIPv6 } from "node:net";

/**
 * Whether a Host header is `localhost` or an address, with or without a port. Any other name may be an attacker's that was
 * made to point here: with it, the page of a site that somebody visits could read this port (DNS rebinding). An address
 * cannot be pointed anywhere else.
 * @param names further names to answer to, in lower case
 */
export function isOwnHost(host: string, names: Iterable<string> = []): boolean {
  const [, ipv6, name = ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(host) ?? [];
  if (ipv6 !== undefined) return isIPv6(ipv6);
  return isIPv4(name) || ["localhost", ...names].includes(name.toLowerCase());
}
