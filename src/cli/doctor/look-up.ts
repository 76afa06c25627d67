import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { codeOf, type Finding, fail, ok, warn } from "./check.ts";
import type { Host } from "./host.ts";
import { patiently, type Run } from "./run.ts";

/** From here on a look-up is a noticeable part of every new connection. */
const slowMs = 500;
const mostShown = 4;

/** As the proxy itself looks names up: by the system, so /etc/hosts and the search path count. */
export async function lookUp({ name, setting }: Host, limitMs: number, visit: Run): Promise<Finding> {
  if (isIP(name) !== 0) return ok("an address, so there is nothing to look up");
  const sinceMs = visit.clock.nowMs();
  const found = await patiently(visit, lookup(name, { all: true }).catch(codeOf), limitMs);
  if (found === undefined) return fail(`no answer within ${limitMs} ms (timeouts.connect)`, fixSilence);
  if (typeof found === "string") return explain(found, setting);
  const addresses = found.map(({ address }) => address);
  const more = addresses.length > mostShown ? ` and ${addresses.length - mostShown} more` : "";
  const detail = `${addresses.slice(0, mostShown).join(", ")}${more}`;
  const isSlow = visit.clock.nowMs() - sinceMs > slowMs;
  return isSlow ? warn(`${detail}, but the look-up is slow`, fixSlowness) : ok(detail);
}

/**
 * Nobody can call off a look-up, and a process ends only with its last one: with glibc's own 5 s, asked twice for each
 * domain to search, that may take minutes. So none lasts longer than a connection may (resolv.conf(5); musl has no such
 * setting).
 */
export function boundLookUps(connectMs: number): void {
  const seconds = Math.min(Math.max(Math.ceil(connectMs / 1_000), 1), 5);
  const given = process.env["RES_OPTIONS"] ?? "";
  process.env["RES_OPTIONS"] = `${given} timeout:${seconds} attempts:1`.trim();
}

const fixSilence =
  "let this pod reach its DNS server (NetworkPolicy: egress to port 53, UDP and TCP), and see that it is up";
const fixSlowness =
  "see how busy the DNS server is; in Kubernetes a lower ndots (dnsConfig) spares it the search path of outside names";

function explain(code: string, setting: string): Finding {
  if (code !== "ENOTFOUND") return fail(`the look-up failed (${code})`, fixSilence);
  const fix =
    `correct the name in ${setting}, or add it to DNS; a service in another namespace of the cluster is ` +
    "name.namespace.svc";
  return fail("there is no such name (ENOTFOUND)", fix);
}
