/** Each query and selector of dashboards and alerts finds series of two real processes under load, with failures. */
import { expect, onTestFinished } from "vitest";
import { dashboards } from "../../../scripts/dashboards/dashboards.ts";
import { overview } from "../../../scripts/dashboards/overview.ts";
import { call, get } from "../../../testkit/call.ts";
import { authority, clientCertificate as certificate, clientKey as key } from "../../../testkit/certificates.ts";
import { otherSite as child, greenSet, site, startFleet } from "../../../testkit/fleet.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { tokenFor } from "../../../testkit/platform-token.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { startMasters } from "../../../testkit/redis-fleet.ts";
import { canaries, hmacSite as signing, simulatedSites } from "../../../testkit/simulated-sites.ts";
import { accepts, startApplication } from "../../../testkit/stage/callbacks.ts";
import { callbackOf, type Given, sendJson } from "../../promises/callbacks/sender.ts";
import { withTools } from "../kubernetes/tools.ts";
import { fillVariables, queriedPanels } from "./grafana.ts";
import { alerts, promtool, rules, selectorsOf } from "./rules.ts";
import { type RunningPrometheus, startPrometheus } from "./running-prometheus.ts";

const patience = { timeout: 60_000, interval: 250 };

withTools("prometheus")(
  "every query of the dashboards and the alerts finds data in a real Prometheus",
  { timeout: 240_000 },
  async () => {
    const service = await startService();
    const targets = service.processes.map(({ adminUrl }) => new URL(adminUrl).host);
    const prometheus = await startPrometheus([{ job_name: "countersign", static_configs: [{ targets }] }]);
    const sees = (expr: string) =>
      expect.poll(() => prometheus.query(expr).then(({ length }) => length), patience).toBeGreaterThan(0);
    await sees("sum(count_over_time(countersign_build_info[1m])) >= 4");
    service.keepOrdering();
    await sees("sum(countersign_requests_total{by='service'}) > 30");

    await haveMishaps(service);
    await service.masters[1].kill();
    service.processes[1]?.change("operations:", "operation:");
    for (const left of traces) await sees(left);
    await settleOne(service.processes);

    // The first value of a new series is no increase: what failed between two scrapes fails again.
    service.simulator.faults.add({ host: "api", kind: "answer", status: 400, site: signing, times: 5 });
    service.simulator.faults.add({ host: "login", kind: "answer", status: 429, clientId: "blue-id" });
    await expect.poll(() => problemsOfPanels(prometheus), patience).toEqual([]);
    // A series is recorded with the next evaluation.
    await expect.poll(() => problemsOfRules(prometheus), patience).toEqual([]);
    const shows = async (title: string) =>
      Math.round(Number((await prometheus.query(await exprOf(title, prometheus)))[0]?.value?.[1]));
    expect(await shows("Outcomes unknown, 24 h")).toBe(2);
    // No token is missed, though each process got its first token before it was scraped.
    const missed = async () => service.simulator.counts().tokensIssued - (await shows("Tokens issued, 24 h"));
    await expect.poll(missed, patience).toBe(0);
    // Rules are evaluated once an interval, so an alert may fire later than a query sees its value.
    const firing = ["CountersignLoginThrottled", "CountersignOutcomeUnknown", "CountersignSetRefused"];
    const inState = (state: "firing" | "pending") =>
      expect.poll(async () => (await alarms(prometheus))[state], patience);
    await inState("firing").toEqual(firing);
    // These alerts are pending until the condition has lasted.
    const lasting = ["CountersignRedisDown", "CountersignReloadFailed", "CountersignSecondSetInUse"];
    await inState("pending").toEqual(expect.arrayContaining(lasting));

    for (const { adminUrl } of service.processes) {
      const { text } = await get(adminUrl, "/metrics");
      expect(promtool(["check", "metrics"], text)).toEqual({ status: 0, said: "" });
    }
  },
);

const shopToken = "token-of-the-shop-0001";

/**
 * Two processes over the same three masters of Redis, with a site of two credential sets, its child site, and a site that
 * signs. Tokens are valid for a few seconds, so that many lifetimes fit into a test. The forward proxy and the collector are
 * configured but never used: the simulator is on loopback, and no trace is recorded.
 */
async function startService() {
  const masters = await startMasters(startRedis);
  const [cache, ...others] = masters;
  const application = await startApplication();
  const keys = (number: number) => `keys: [ { identifier: K200000000${number}, secret: { file: DIR/k${number} } } ]`;
  const { simulator, add } = await startFleet({
    redis: `{ url: "${cache.url}", lockNodes: [ ${others.map(({ url }) => `"${url}"`).join(", ")} ] }`,
    replicas: 0,
    simulator: { sites, tokenLifetimeSeconds: 8 },
    moreSets: [greenSet],
    environment: `tls: { caFile: DIR/authority, certFile: DIR/certificate, keyFile: DIR/key }\n    egress: { proxy: "http://127.0.0.1:3128" }`,
    other: `auth: [oauth, hmac], bridge: hmac, ${keys(2)}`,
    moreSites: `${signing}: { auth: [hmac, oauth], ${keys(1)}, credentials: [ ${platform} ] }`,
    files: { authority, certificate, key, "shop.token": shopToken, assertion: tokenFor(3_600) },
  });
  const addOne = async () => {
    const [callbackPort, callersPort] = [await freePort(), await freePort()];
    const shop = `{ shop: { token: { file: DIR/shop.token }, sites: [ ${site} ] } }`;
    const to = `application: { url: "${application.url}" }`;
    const replica = await add({
      listeners: [`{ bind: "127.0.0.1:${callersPort}", environment: sandbox, callers: ${shop} }`],
      more: `callbacks: [ { bind: "127.0.0.1:${callbackPort}", environment: sandbox, ${to} } ]
tracing: { otlp: { endpoint: "http://127.0.0.1:4318/v1/traces" }, sampleRatio: 0 }`,
    });
    return { ...replica, callbackPort, callersPort };
  };
  const processes = [await addOne(), await addOne()] as const;
  /** Sends orders for every site through both processes, one after another, until the test ends. */
  const keepOrdering = () => {
    let goesOn = true;
    const loops = processes.map(async ({ order }) => {
      while (goesOn) for (const to of [site, child, signing]) await order({ "Countersign-Site": to });
    });
    onTestFinished(async () => {
      goesOn = false;
      await Promise.allSettled(loops);
    });
  };
  return { masters, application, simulator, processes, keepOrdering };
}

const platform =
  "{ name: platform, clientId: platform, audience: a, token: { clientAuth: { assertion: { file: DIR/assertion } } } }";

/** The child has a key of its own. */
const sites = [
  ...simulatedSites.filter(({ identifier }) => identifier === site),
  { identifier: child, parent: site, keys: [{ identifier: "K2000000002", secret: canaries.keyTwo }] },
  { identifier: signing, keys: [{ identifier: "K2000000001", secret: canaries.keyOne }] },
];

/** Causes a revocation, a deleted set, two missing answers, a refused signature, a 429, a redirect, 401s that stay, callbacks, one of them forged, and a caller without a right. */
async function haveMishaps({
  simulator,
  application,
  processes,
}: Awaited<ReturnType<typeof startService>>): Promise<void> {
  const [{ order, callbackPort, callersPort }] = processes;
  const callback = callbackOf();
  const callBack = async (given: Given) => (await sendJson(callbackPort, given)).status;
  application.answerWith((response) => response.writeHead(500).end());
  expect([await callBack(callback), await callBack({ ...callback, forged: "1" })]).toEqual([500, 401]);
  application.answerWith(accepts);
  expect(await callBack(callback)).toBe(200);
  const { faults } = simulator;
  faults.add({ host: "login", kind: "answer", status: 429, headers: { "retry-after": "1" } });
  simulator.revokeAllTokens();
  faults.add({ host: "api", kind: "reset", when: "after_reading", site, times: 2 });
  faults.add({ host: "api", kind: "answer", status: 400, site: signing, times: 20 });
  faults.add({ host: "api", kind: "answer", status: 429, site: signing });
  faults.add({ host: "api", kind: "answer", status: 302, site: signing });
  faults.add({ host: "api", kind: "answer", status: 401, site: child, times: 6 });
  await order();
  // An order of the named caller `shop`, which may order for one site only.
  const headers = { "Countersign-Site": child, "Proxy-Authorization": `Bearer ${shopToken}` };
  expect((await call(`http://127.0.0.1:${callersPort}`, undefined, { headers })).status).toBe(403);
  simulator.deleteCredentials("blue-id");
}

/** Somebody looks for one of the two missing answers. */
async function settleOne(processes: Awaited<ReturnType<typeof startService>>["processes"]): Promise<void> {
  for (const { statusUrl } of processes) {
    const status = await call(statusUrl, "", { method: "GET", path: "/status" });
    const [unknown] = status.json.unknownOutcomes;
    if (unknown === undefined) continue;
    const path = `/status/unknown/${unknown.requestId}`;
    expect((await call(statusUrl, { found: true }, { path })).status).toBe(200);
    return;
  }
  expect.fail("no process knows the outcomes");
}

/** Queries that have a value once all these failures have happened. */
const traces = [
  'countersign_failures_total{outcome="unknown"} > 0',
  "sum(countersign_unknown_outcomes_total) == 2",
  'sum(countersign_requests_total{auth="hmac", status="400"}) >= 20',
  'sum(countersign_requests_total{auth="hmac", status="429"}) > 0',
  'countersign_token_requests_total{result="throttled"} > 0',
  'countersign_token_requests_total{result="refused"} > 0',
  'countersign_retries_total{result="cured"} > 0',
  'sum(countersign_requests_total{status="401"}) > 0',
  'sum(countersign_callbacks_total{result=~"delivered|declined|signature_wrong"}) == 3',
  'countersign_credential_active{credential=~".+/green"} == 1',
  'countersign_caller_refusals_total{code="caller_not_allowed"} == 1',
  'countersign_redis_up{node="lock-2"} == 0',
  "countersign_config_last_reload_successful == 0",
  "sum_over_time(countersign:tokens_expected:per_second[1h:15s]) > 0",
];

/** The first query of a panel of the overview. */
async function exprOf(title: string, prometheus: RunningPrometheus): Promise<string> {
  const found = queriedPanels(overview).find(({ panel }) => panel.title === title);
  return (await fillVariables(overview, prometheus))(found?.queries[0]?.expr ?? "");
}

/** Queries that Prometheus refuses, or that have no value anywhere. */
async function problemsOfPanels(prometheus: RunningPrometheus): Promise<string[]> {
  const problems: string[] = [];
  for (const dashboard of Object.values(dashboards)) {
    const substitute = await fillVariables(dashboard, prometheus);
    for (const { panel, queries } of queriedPanels(dashboard)) {
      for (const { expr, range } of queries) {
        const asked = substitute(expr);
        const found = range === true ? prometheus.queryRange(asked) : prometheus.query(asked);
        const why = await found.then(emptiness, (error: unknown) => String(error));
        if (why !== undefined) problems.push(`${dashboard.title}, ${panel.title}: ${why}: ${asked}`);
      }
    }
  }
  return problems;
}

function emptiness(found: Awaited<ReturnType<RunningPrometheus["query"]>>): string | undefined {
  const values = found.flatMap(({ value, values = [] }) => [...(value === undefined ? [] : [value]), ...values]);
  return values.some(([, text]) => Number.isFinite(Number(text))) ? undefined : "no data";
}

/** Rules that cannot be evaluated, and selectors in them that match nothing. */
async function problemsOfRules(prometheus: RunningPrometheus): Promise<string[]> {
  const problems: string[] = [];
  const { groups } = await prometheus.ask("rules");
  // biome-ignore lint/suspicious/noExplicitAny: as Prometheus has it
  const loaded = groups.flatMap((group: any) => group.rules);
  if (loaded.length !== rules.length) problems.push(`${loaded.length} of ${rules.length} rules are loaded`);
  for (const { name, health, lastError } of loaded)
    if (health !== "ok") problems.push(`${name}: ${health} ${lastError}`);
  for (const { alert, record, expr } of rules) {
    for (const selector of selectorsOf(expr)) {
      const found = await prometheus.query(`last_over_time(${selector}[5m])`);
      if (found.length === 0) problems.push(`${alert ?? record}: nothing matches ${selector}`);
    }
  }
  return problems;
}

/** The alerts' names by state; expects that all their texts could be made. */
async function alarms(prometheus: RunningPrometheus): Promise<{ firing: string[]; pending: string[] }> {
  const { alerts: active } = await prometheus.ask("alerts");
  expect(JSON.stringify(active)).not.toMatch(/<error|no value/);
  const names = alerts.map(({ alert }) => alert).sort();
  const inState = (wanted: string) =>
    // biome-ignore lint/suspicious/noExplicitAny: as Prometheus has it
    names.filter((name) => active.some(({ labels, state }: any) => labels.alertname === name && state === wanted));
  return { firing: inState("firing"), pending: inState("pending") };
}
