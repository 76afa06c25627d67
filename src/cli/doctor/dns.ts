import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { errorCodeOf } from "../../model/defect.ts";
import { type CheckResult, fail, ok, type Run, warn, withinRun } from "./check.ts";
import type { Destination } from "./tls.ts";

/** A look-up that takes longer is a noticeable part of every new connection. */
const slowMs = 500;
const mostShown = 4;

const fixSilence =
  "let this pod reach its DNS server (NetworkPolicy: egress to port 53, UDP and TCP), and see that it is up";
const fixSlowness =
  "see how busy the DNS server is; in Kubernetes a lower ndots (dnsConfig) spares it the search path of outside names";

/** Looks a name up as the proxy does: by the system, so /etc/hosts and the search path count. */
export async function checkDns({ host, setting, connectMs }: Destination, run: Run): Promise<CheckResult> {
  if (isIP(host) !== 0) return ok("an address, so there is nothing to look up");
  const sinceMs = run.clock.nowMs();
  const found = await withinRun(
    run,
    lookup(host, { all: true }).catch((error) => errorCodeOf(error) ?? "UNKNOWN"),
    connectMs,
  );
  if (found === undefined) return fail(`no answer within ${connectMs} ms (timeouts.connect)`, fixSilence);
  if (found === "ENOTFOUND") {
    const elsewhere = "a service in another namespace of the cluster is name.namespace.svc";
    return fail("there is no such name (ENOTFOUND)", `correct the name in ${setting}, or add it to DNS; ${elsewhere}`);
  }
  if (typeof found === "string") return fail(`the look-up failed (${found})`, fixSilence);
  const addresses = found.map(({ address }) => address);
  const more = addresses.length > mostShown ? ` and ${addresses.length - mostShown} more` : "";
  const detail = `${addresses.slice(0, mostShown).join(", ")}${more}`;
  const isSlow = run.clock.nowMs() - sinceMs > slowMs;
  return isSlow ? warn(`${detail}, but the look-up is slow`, fixSlowness) : ok(detail);
}

/**
 * A look-up cannot be cancelled, and the process ends only with its last one. With the 5 s of glibc, asked twice for each
 * search domain, that takes minutes. So a look-up gets no longer than a connection (resolv.conf(5); musl has no such setting).
 */
export function boundLookUps(connectMs: number): void {
  const seconds = Math.min(Math.max(Math.ceil(connectMs / 1_000), 1), 5);
  const given = process.env["RES_OPTIONS"] ?? "";
  process.env["RES_OPTIONS"] = `${given} timeout:${seconds} attempts:1`.trim();
}
