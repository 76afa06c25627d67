import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { authorizationServersOf } from "../../app/upstreams.ts";
import { parseHttpDate } from "../../http/date.ts";
import { errorCodeOf } from "../../model/defect.ts";
import {
  type Address,
  type CredentialSet,
  type Environment,
  egressTo,
  placeOf,
  tokenUrlOf,
} from "../../model/environment.ts";
import { listNames } from "../../model/names.ts";
import {
  type Check,
  type CheckResult,
  type Explanations,
  explain,
  fail,
  formatSpan,
  type OpenRun,
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
  type DatedAnswer,
  type Destination,
  evaluateConnection,
  type Probe,
  probe,
  type Target,
  targetAt,
} from "./connection.ts";
import { checkAssertion, checkToken } from "./token.ts";

/** All in parallel. */
export async function checkEnvironments(run: OpenRun): Promise<Check[]> {
  const environments = [...run.config.environments.values()];
  return (await Promise.all(environments.map((environment) => checkEnvironment(environment, run)))).flat();
}

const hostTopics = ["dns", "tls", "http", "clock"] as const;

/** Checks the hosts in parallel; then gets a token for each set, if the authorization server can be reached. */
async function checkEnvironment(environment: Environment, run: OpenRun): Promise<Check[]> {
  const { name, baseUrl, authUrl } = environment;
  const sets = run.sets.filter((set) => set.environment === name);
  const servers = sets.length === 0 ? [] : authorizationServersOf(environment);
  const egress = await checkEgress(environment, run);
  const hasProxy = egress.every(({ verdict }) => verdict !== "fail");
  const check = (key: string, address: Address) =>
    checkHost(name, hostOf(environment, key, address, run), hasProxy, run);
  const hosts = await Promise.all([
    check("baseUrl", baseUrl),
    ...servers.map((address) => check(address.origin === authUrl?.origin ? "authUrl" : "token.url", address)),
  ]);
  const about = { topic: "token" as const, environment: name };
  const tokens = sets.map((set) =>
    timed(run, { ...about, subject: set.set.label }, async () => {
      const { origin } = tokenUrlOf(environment, set.set);
      const host = hosts[1 + servers.findIndex((address) => address.origin === origin)];
      const connection = host?.find(({ topic }) => topic === "tls")?.verdict;
      const isReachable = connection === "ok" || connection === "warn";
      if (!isReachable && set.token === undefined) {
        return tellBridge(skip("the authorization server cannot be reached"), environment, set.set);
      }
      return tellBridge(await checkToken(set, run), environment, set.set);
    }),
  );
  const needless = skip("no site has credentials, so the authorization server is not asked");
  const none = sets.length === 0 ? [toCheck({ ...about, subject: authUrl?.host ?? "tokens" }, needless)] : [];
  const byTopic = hostTopics.flatMap((topic) => hosts.flat().filter((each) => each.topic === topic));
  const assertions = await Promise.all(sets.map((set) => checkAssertion(set, run)));
  return [...egress, ...byTopic, ...none, ...assertions.flat(), ...(await Promise.all(tokens))];
}

/** Without a token, the orders of sites with `bridge` are signed. */
function tellBridge(result: CheckResult, { sites }: Environment, set: CredentialSet): CheckResult {
  const bridged = [...sites.values()].filter(({ bridge, credentials }) => bridge && credentials?.sets.includes(set));
  if (bridged.length === 0 || result.verdict === "ok" || result.verdict === "warn") return result;
  const names = listNames(bridged.map(({ identifier }) => identifier));
  return { ...result, detail: `${result.detail}; meanwhile orders of ${names} are signed (bridge: hmac)` };
}

function hostOf(environment: Environment, key: string, address: Address, run: Run): Target {
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
 * Name, connection, HTTP and clock of one host. Each depends on the one before.
 * @param hasProxy whether the proxy takes connections, where there is one
 */
async function checkHost(environment: string, to: Target, hasProxy: boolean, run: Run): Promise<Check[]> {
  const { clock } = run;
  const { egress } = to;
  const lookUp = async () => (egress === undefined ? checkDns(to, run) : skip("the proxy looks it up"));
  const dns = await timed(run, { topic: "dns", environment, subject: to.host }, lookUp);
  const about = { environment, subject: to.place };
  const isCutOff = egress !== undefined && !hasProxy;
  if (dns.verdict === "fail" || isCutOff) {
    const unknown = skip(isCutOff ? "the proxy cannot be reached" : "its address is not known");
    return [dns, ...(["tls", "http", "clock"] as const).map((topic) => toCheck({ topic, ...about }, unknown))];
  }
  const sinceMs = clock.nowMs();
  // No credentials, no body, outside the base path: nothing that a service could take for an order.
  const probed = await probe(to, clock, { method: "HEAD", path: "/" });
  const tookMs = Math.round((probed.connectedAtMs ?? clock.nowMs()) - sinceMs);
  const { answer } = probed;
  const connection = evaluateConnection(probed, to, clock.wallMs());
  const way = egress === undefined || connection.verdict === "fail" ? "" : `through ${placeOf(egress.proxy)}: `;
  const dated = answer === undefined ? skip("there is no Date to compare with") : evaluateClock(answer);
  return [
    dns,
    toCheck({ topic: "tls", ...about }, { ...connection, detail: `${way}${connection.detail}` }, tookMs),
    toCheck({ topic: "http", ...about }, evaluateAnswer(probed, to, connection.verdict !== "fail")),
    toCheck({ topic: "clock", ...about }, dated),
  ];
}

/** Whether it speaks HTTP. A status tells little of a request that is no order, but for one of 5xx. */
function evaluateAnswer({ answer, code = "UNKNOWN" }: Probe, to: Target, isConnected: boolean): CheckResult {
  if (!isConnected) return skip("there is no connection");
  if (answer === undefined) {
    const fix = `see what stands between here and ${to.place}, and that host and port in ${to.setting} are right`;
    return explain(answerFailures, code, { ...to, code }) ?? fail(`HEAD / got no answer (${code})`, fix);
  }
  const { status } = answer;
  // 501: it does not know HEAD (RFC 9110 section 15.6.2).
  if (status < 500 || status === 501) return ok(`it answers HEAD / (${status})`);
  return fail(
    `it answers ${status} to HEAD /: it fails, or what stands before it`,
    `see the state of ${to.place} first`,
  );
}

const answerFailures: Explanations = {
  ETIMEDOUT:
    "it takes connections, and does not answer ($code) | see how busy it is, and what stands between here and $place",
  "ECONNRESET|EPIPE":
    "it closes the connection without an answer ($code) | see its log, and what stands between here and $place (proxy, firewall, service mesh)",
  "HPE_.*": "what it answers is no HTTP/1.1 ($code) | correct host and port in $setting",
};

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

/** Services allow for a few seconds. From 30 s on, a service may refuse a timestamp as old. */
const goodSkewMs = 5_000;
const badSkewMs = 30_000;

/** Both sides have some leeway: a Date is cut to its second, and a response takes a while to come. */
export function evaluateClock({ status, date, sentAtMs, receivedAtMs }: DatedAnswer): CheckResult {
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
