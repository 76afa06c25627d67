import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { authorizationServersOf, type Upstreams } from "../../app/upstreams.ts";
import { parseHttpDate } from "../../http/date.ts";
import { errorCodeOf } from "../../model/defect.ts";
import { type Address, type Environment, egressTo, placeOf } from "../../model/environment.ts";
import { listNames } from "../../model/names.ts";
import { tokenUrlOf } from "../../model/token-settings.ts";
import {
  type Check,
  type CheckResult,
  fail,
  formatSpan,
  ok,
  type Run,
  skip,
  timed,
  toCheck,
  warn,
  withinRun,
} from "./check.ts";
import {
  checkConnection,
  type Destination,
  evaluateConnection,
  type HeadResponse,
  probe,
  type Target,
  targetAt,
} from "./tls.ts";
import { checkToken, type SharedCache, type SharedSet } from "./token.ts";

/** Both hosts in parallel; then a token for each set, from an authorization server that can be reached. */
export async function checkEnvironment(
  environment: Environment,
  sets: readonly SharedSet[],
  cache: SharedCache,
  { tokenEndpointOf }: Upstreams,
  run: Run,
): Promise<Check[]> {
  const { name, baseUrl, authUrl } = environment;
  const servers = sets.length === 0 ? [] : authorizationServersOf(environment);
  const login = servers.map((address) => {
    return hostOf(environment, address.origin === authUrl?.origin ? "authUrl" : "token.url", address, run);
  });
  const hosts = [hostOf(environment, "baseUrl", baseUrl, run), ...login];
  const egress = await checkEgress(environment, run);
  const hasProxy = egress.every(({ verdict }) => verdict !== "fail");
  const reports = await Promise.all(hosts.map((host) => checkHost(name, host, hasProxy, run)));
  const about = { topic: "token" as const, environment: name };
  const checkSet = (set: SharedSet) =>
    timed(run, { ...about, subject: set.set.label }, async () => {
      const { origin } = tokenUrlOf(environment, set.set);
      const report = reports[1 + servers.findIndex((address) => address.origin === origin)];
      const isReachable = ["ok", "warn"].includes(report?.tls.verdict ?? "skipped");
      if (!isReachable && set.shared.token === undefined) return skip("the authorization server cannot be reached");
      return checkToken(set, cache, tokenEndpointOf(environment, set.set), run);
    });
  const needless = skip("no site has credentials, so the authorization server is not asked");
  const tokens =
    login.length === 0
      ? [toCheck({ ...about, subject: authUrl?.host ?? "tokens" }, needless)]
      : await Promise.all(sets.map(checkSet));
  return [
    ...egress,
    ...(["dns", "tls", "clock"] as const).flatMap((topic) => reports.map((report) => report[topic])),
    ...tokens,
  ];
}

function hostOf(
  environment: Environment,
  key: "baseUrl" | "authUrl" | "token.url",
  address: Address,
  run: Run,
): Target {
  const path = `environments.${environment.name}`;
  return {
    ...targetAt(address, environment.tls, { setting: `${path}.${key}`, tlsSetting: `${path}.tls` }, run),
    egress: egressTo(environment, address),
    egressSetting: `${path}.egress`,
  };
}

/**
 * Whether the forward proxy of an environment takes connections; nothing where it has none. What it lets through is seen where the hosts
 * behind it are checked.
 */
async function checkEgress({ name, egress }: Environment, run: Run): Promise<Check[]> {
  if (egress === undefined) return [];
  const setting = `environments.${name}.egress`;
  const to = targetAt(egress.proxy, egress.tls, { setting, tlsSetting: `${setting}.tls` }, run);
  const about = { topic: "egress" as const, environment: name };
  const dns = await timed(run, { ...about, subject: to.host }, () => checkDns(to, run));
  if (dns.verdict === "fail") return [dns];
  return [dns, await timed(run, { ...about, subject: to.place }, () => checkConnection(to, run))];
}

/**
 * Name, connection and clock of one host. Each depends on the one before.
 * @param hasProxy whether the proxy takes connections, where there is one
 */
async function checkHost(
  environment: string,
  to: Target,
  hasProxy: boolean,
  run: Run,
): Promise<Readonly<Record<"dns" | "tls" | "clock", Check>>> {
  const { clock } = run;
  const { egress } = to;
  const lookUp = async () => (egress === undefined ? checkDns(to, run) : skip("the proxy looks it up"));
  const dns = await timed(run, { topic: "dns", environment, subject: to.host }, lookUp);
  const about = { environment, subject: to.place };
  const isCutOff = egress !== undefined && !hasProxy;
  if (dns.verdict === "fail" || isCutOff) {
    const unknown = skip(isCutOff ? "the proxy cannot be reached" : "its address is not known");
    return {
      dns,
      tls: toCheck({ topic: "tls", ...about }, unknown),
      clock: toCheck({ topic: "clock", ...about }, unknown),
    };
  }
  const sinceMs = clock.nowMs();
  const probed = await probe(to, clock);
  const tookMs = Math.round((probed.connectedAtMs ?? clock.nowMs()) - sinceMs);
  const { response, code } = probed;
  const noDate = skip(`HEAD / got no answer (${code}), so no Date to compare with`);
  const dated = response === undefined ? noDate : evaluateClock(response);
  const connection = evaluateConnection(probed, to, clock.wallMs());
  const way = egress === undefined || connection.verdict === "fail" ? "" : `through ${placeOf(egress.proxy)}: `;
  return {
    dns,
    tls: toCheck({ topic: "tls", ...about }, { ...connection, detail: `${way}${connection.detail}` }, tookMs),
    clock: toCheck({ topic: "clock", ...about }, dated),
  };
}

/** A look-up that takes longer is a noticeable part of every new connection. */
const slowMs = 500;

const fixSilence =
  "let this pod reach its DNS server (NetworkPolicy: egress to port 53, UDP and TCP), and see that it is up";
const fixSlowness =
  "see how busy the DNS server is; in Kubernetes a lower ndots (dnsConfig) spares it the search path of outside names";

/** Looks a name up as the proxy does: by the system, so /etc/hosts and the search path count. */
async function checkDns({ host, setting, connectMs }: Destination, run: Run): Promise<CheckResult> {
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
  const detail = listNames(addresses, 4);
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

/** Services allow for a few seconds. From 30 s on, a service may take a timestamp for an old one. */
const goodSkewMs = 5_000;
const badSkewMs = 30_000;

/** Both sides have some leeway: a Date is cut to its second, and a response takes a while to come. */
export function evaluateClock({ status, date, sentAtMs, receivedAtMs }: HeadResponse): CheckResult {
  const theirsMs = parseHttpDate(date);
  if (theirsMs === undefined) return skip(`its answer (${status}) has no Date to compare with`);
  const aheadMs = Math.max(0, sentAtMs - (theirsMs + 1_000));
  const behindMs = Math.max(0, theirsMs - receivedAtMs);
  const skewMs = Math.max(aheadMs, behindMs);
  if (skewMs < 1_000) return ok("our clock agrees with its Date");
  const detail = `our clock is ${formatSpan(skewMs)} ${aheadMs > 0 ? "ahead of" : "behind"} its Date`;
  if (skewMs <= goodSkewMs) return ok(detail);
  const fix = "set this node's clock (NTP, chrony); if it agrees with other hosts, theirs is wrong";
  return skewMs <= badSkewMs ? warn(detail, fix) : fail(`${detail}: it may refuse our timestamps`, fix);
}
