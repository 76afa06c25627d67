import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { authorizationServersOf } from "../../app/upstreams.ts";
import type { TracingConfig } from "../../config/config.ts";
import { parseHttpDate } from "../../http/date.ts";
import { formatSpan } from "../../model/clock.ts";
import { errorCodeOf } from "../../model/defect.ts";
import { type Address, type Environment, egressTo, placeOf } from "../../model/environment.ts";
import { listNames } from "../../model/names.ts";
import {
  type Check,
  type CheckResult,
  fail,
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
  evaluateConnection,
  type Probe,
  probe,
  type Target,
  targetAt,
} from "./connection.ts";
import { checkTokens } from "./token.ts";

/** Checks all environments in parallel. */
export async function checkEnvironments(run: OpenRun): Promise<Check[]> {
  const environments = [...run.config.environments.values()];
  return (await Promise.all(environments.map((environment) => checkEnvironment(environment, run)))).flat();
}

const hostTopics = ["dns", "tls", "http", "clock"];

/** Checks the hosts in parallel, and then the token of each set. */
async function checkEnvironment(environment: Environment, run: OpenRun): Promise<Check[]> {
  const { name, baseUrl, authUrl, tls } = environment;
  const sets = run.sets.filter((set) => set.environment === name);
  const servers = sets.length === 0 ? [] : authorizationServersOf(environment);
  const egress = await checkEgress(environment, run);
  const hasProxy = egress.every(({ verdict }) => verdict !== "fail");
  const check = (key: string, address: Address) => {
    const to = targetAt([`environments.${name}`, key], { address, tls, egress: egressTo(environment, address) }, run);
    return checkHost(name, to, hasProxy, run);
  };
  const hosts = await Promise.all([
    check("baseUrl", baseUrl),
    ...servers.map((address) => check(address.origin === authUrl?.origin ? "authUrl" : "token.url", address)),
  ]);
  const isReachable = (origin: string) => {
    const host = hosts[1 + servers.findIndex((address) => address.origin === origin)];
    return host?.some(({ topic, verdict }) => topic === "tls" && (verdict === "ok" || verdict === "warn")) === true;
  };
  const byTopic = hostTopics.flatMap((topic) => hosts.flat().filter((each) => each.topic === topic));
  return [...egress, ...byTopic, ...(await checkTokens(environment, sets, isReachable, run))];
}

/**
 * Whether the forward proxy of an environment, if there is one, accepts connections. The checks of the hosts behind the proxy show
 * which connections it lets through.
 */
async function checkEgress({ name, egress }: Environment, run: Run): Promise<Check[]> {
  if (egress === undefined) return [];
  const to = targetAt([`environments.${name}.egress`], { address: egress.proxy, tls: egress.tls }, run);
  const about = { topic: "egress", environment: name };
  const dns = await checkName(about, to, run);
  if (dns.some(isFailed)) return dns;
  return [...dns, await timed(run, { ...about, subject: to.place }, () => checkConnection(to, run))];
}

/**
 * Name, connection, HTTP and clock of one host. Each of these checks depends on the check before it.
 * @param hasProxy whether the proxy, if there is one, accepts connections
 */
async function checkHost(environment: string, to: Target, hasProxy: boolean, run: Run): Promise<Check[]> {
  const { clock } = run;
  const { egress } = to;
  const dns = await checkName({ topic: "dns", environment }, to, run);
  const about = { environment, subject: to.place };
  const isCutOff = egress !== undefined && !hasProxy;
  if (dns.some(isFailed) || isCutOff) {
    const why = isCutOff ? "the proxy cannot be reached" : "its address is not known";
    return [...dns, toCheck({ topic: "tls", ...about }, skip(`${why}, so TLS, HTTP and clock are not checked`))];
  }
  const sinceMs = clock.nowMs();
  // No credentials, no body, outside the base path: nothing that a service could take for an order.
  const probed = await probe(to, clock, { method: "HEAD", path: "/" });
  const tookMs = Math.round((probed.connectedAtMs ?? clock.nowMs()) - sinceMs);
  const { answer } = probed;
  const connection = evaluateConnection(probed, to, clock.wallMs());
  if (isFailed(connection)) {
    const unasked = skip("there is no connection, so HTTP and clock are not checked");
    return [
      ...dns,
      toCheck({ topic: "tls", ...about }, connection, tookMs),
      toCheck({ topic: "http", ...about }, unasked),
    ];
  }
  const via = egress === undefined ? "" : `through ${placeOf(egress.proxy)}: `;
  return [
    ...dns,
    toCheck({ topic: "tls", ...about }, { ...connection, detail: `${via}${connection.detail}` }, tookMs),
    toCheck({ topic: "http", ...about }, evaluateAnswer(probed, to)),
    ...(answer === undefined ? [] : [toCheck({ topic: "clock", ...about }, evaluateClock(answer))]),
  ];
}

/** How a host's name is found; nothing for an address. */
async function checkName(about: Pick<Check, "topic" | "environment">, to: Target, run: Run): Promise<Check[]> {
  if (isIP(to.host) !== 0) return [];
  const lookUp = async () => (to.egress === undefined ? checkDns(to, run) : skip("the proxy looks it up"));
  return [await timed(run, { ...about, subject: to.host }, lookUp)];
}

function isFailed({ verdict }: CheckResult): boolean {
  return verdict === "fail";
}

/** Whether the host speaks HTTP. Only a 5xx is a failure: HEAD / is no order, so other statuses say little. */
function evaluateAnswer({ answer, code = "UNKNOWN" }: Probe, to: Target): CheckResult {
  if (answer === undefined) return explainSilence(code, to);
  const { status } = answer;
  // 501: it does not know HEAD (RFC 9110 section 15.6.2).
  if (status < 500 || status === 501) return ok(`it answers HEAD / (${status})`);
  return fail(
    `it answers ${status} to HEAD /: it fails, or a gateway in front of it`,
    `see the state of ${to.place} first`,
  );
}

/** Why a connection gave no answer. */
function explainSilence(code: string, { place, setting }: Target): CheckResult {
  const between = `what stands between here and ${place}`;
  if (code === "ETIMEDOUT") {
    return fail(`it takes connections, and does not answer (${code})`, `see how busy it is, and ${between}`);
  }
  if (code === "ECONNRESET" || code === "EPIPE") {
    const fix = `see its log, and ${between} (proxy, firewall, service mesh)`;
    return fail(`it closes the connection without an answer (${code})`, fix);
  }
  if (code.startsWith("HPE_")) {
    return fail(`what it answers is no HTTP/1.1 (${code})`, `correct host and port in ${setting}`);
  }
  return fail(`HEAD / got no answer (${code})`, `see ${between}, and that host and port in ${setting} are right`);
}

/** A look-up that takes longer is a noticeable part of every new connection. */
const slowMs = 500;

const fixSilence = (setting: string) =>
  `correct the name in ${setting}, or see that its DNS server is up and can be reached (in Kubernetes, NetworkPolicy: egress to port 53, UDP and TCP)`;
const fixSlowness =
  "see how busy the DNS server is; in Kubernetes a lower ndots (dnsConfig) spares it the search path of outside names";

/** Looks a name up as the proxy does: by the system, so /etc/hosts and the search path apply. */
async function checkDns({ host, setting, connectTimeoutMs }: Target, run: Run): Promise<CheckResult> {
  const sinceMs = run.clock.nowMs();
  const found = await withinRun(
    run,
    lookup(host, { all: true }).catch((error) => errorCodeOf(error) ?? "UNKNOWN"),
    connectTimeoutMs,
  );
  if (found === undefined)
    return fail(`no answer within ${connectTimeoutMs} ms (timeouts.connect)`, fixSilence(setting));
  if (found === "ENOTFOUND") {
    const elsewhere = "a service in another namespace of the cluster is name.namespace.svc";
    return fail("there is no such name (ENOTFOUND)", `correct the name in ${setting}, or add it to DNS; ${elsewhere}`);
  }
  if (typeof found === "string") return fail(`the look-up failed (${found})`, fixSilence(setting));
  const addresses = found.map(({ address }) => address);
  const detail = listNames(addresses, 4);
  const isSlow = run.clock.nowMs() - sinceMs > slowMs;
  return isSlow ? warn(`${detail}, but the look-up is slow`, fixSlowness) : ok(detail);
}

/**
 * A look-up cannot be cancelled, and the process ends only after its last look-up. glibc waits 5 s, twice for each search
 * domain, which can take minutes. So a look-up may take no longer than a connection (resolv.conf(5); musl has no such setting).
 */
export function boundLookUps(connectMs: number): void {
  const seconds = Math.min(Math.max(Math.ceil(connectMs / 1_000), 1), 5);
  const given = process.env["RES_OPTIONS"] ?? "";
  process.env["RES_OPTIONS"] = `${given} timeout:${seconds} attempts:1`.trim();
}

/** Services tolerate a few seconds. From 30 s on, a service may refuse a timestamp as old. */
const goodSkewMs = 5_000;
const badSkewMs = 30_000;

/** Tolerant in both directions: a Date is cut to whole seconds, and a response takes time to arrive. */
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

/** Whether the applications for callbacks accept connections. They get no callback. `checkConfig` warns of sites without keys. */
export function checkCallbacks(run: Run): Promise<Check>[] {
  return run.config.callbacks.map(({ environment, application: { url: address, tls } }, index) => {
    const to = targetAt([`callbacks[${index}].application`, "url"], { address, tls }, run);
    const about = { topic: "callback", environment, subject: `application ${to.place}` };
    return timed(run, about, () => checkConnection(to, run));
  });
}

/** An ExportTraceServiceRequest without a span. */
const noSpans = '{"resourceSpans":[]}';

/** Whether the collector accepts an export: it gets one without spans. */
export function checkTracing(run: Run): Promise<Check>[] {
  const { tracing } = run.config;
  if (tracing === undefined) return [];
  const about = { topic: "tracing", subject: `collector ${placeOf(tracing.endpoint)}` };
  return [timed(run, about, () => checkCollector(tracing, run))];
}

async function checkCollector({ endpoint, headers: secrets, tls }: TracingConfig, run: Run): Promise<CheckResult> {
  const to = targetAt(["tracing.otlp", "endpoint"], { address: endpoint, tls }, run);
  const sent = Object.fromEntries([...secrets].map(([name, value]) => [name, value.reveal()]));
  const headers = { ...sent, "content-type": "application/json" };
  const probed = await probe(to, run.clock, { method: "POST", path: endpoint.path, headers, body: noSpans });
  const connection = evaluateConnection(probed, to, run.clock.wallMs());
  if (connection.verdict === "fail") return connection;
  const { answer, code, protocol = "no TLS" } = probed;
  return answer === undefined
    ? warn(`it takes connections, and does not answer (${code})`, `see that ${to.setting} is OTLP over HTTP`)
    : evaluateExport(answer.status, to, protocol);
}

function evaluateExport(status: number, to: Target, protocol: string): CheckResult {
  if (status >= 200 && status <= 299) return ok(`it takes spans (${protocol})`);
  const detail = `it does not take spans (HTTP ${status})`;
  if (status === 401 || status === 403) return fail(detail, "correct the values in tracing.otlp.headers");
  if (status === 404 || status === 405) return fail(detail, `correct the path in ${to.setting}, mostly /v1/traces`);
  if (status === 415) return fail(detail, "let the collector take OTLP over HTTP in JSON");
  return warn(detail, "see the collector's own log; spans wait, up to 2048, and requests go on");
}
