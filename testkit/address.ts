import type { Address } from "../src/model/environment.ts";

/** A URL in its parts, as the configuration has them. */
export function addressOf(text: string): Address {
  const { protocol, hostname, port, pathname, origin } = new URL(text);
  const scheme = protocol === "https:" ? "https" : "http";
  const defaultPort = scheme === "https" ? 443 : 80;
  return { origin, scheme, host: hostname, port: Number(port || defaultPort), path: pathname === "/" ? "" : pathname };
}
