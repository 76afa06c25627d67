/** The dashboards are as the generator makes them and Grafana needs them; test/platform/prometheus/live.redis.test.ts runs their queries. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaultDashboard, type Panel, type RowPanel } from "@grafana/grafana-foundation-sdk/dashboard";
import { describe, expect, it } from "vitest";
import { dashboards, textOf } from "../../../scripts/dashboards/dashboards.ts";
import { overview } from "../../../scripts/dashboards/overview.ts";
import { createMetrics } from "../../../src/adapters/stats/metrics.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { withTools } from "../kubernetes/tools.ts";
import { type QueriedPanel, queriedPanels } from "./grafana.ts";
import { alerts, promtool, rules } from "./rules.ts";

const folder = "helm/countersign/files/dashboards";
const all = Object.entries(dashboards).map(([file, dashboard]) => ({
  file,
  dashboard,
  panels: queriedPanels(dashboard),
}));

it("are written for Grafana by npm run dashboards, and there are no others", () => {
  expect(
    readdirSync(folder)
      .map((name) => `${folder}/${name}`)
      .sort(),
  ).toEqual(Object.keys(dashboards).sort());
});

it("have titles and uids of their own, and link to each other", () => {
  for (const key of ["title", "uid"] as const) expect(new Set(all.map(({ dashboard }) => dashboard[key])).size).toBe(3);
  for (const { dashboard } of all) {
    expect(dashboard.links).toMatchObject([
      { type: "dashboards", tags: dashboard.tags, includeVars: true, keepTime: true },
    ]);
  }
});

it("show the present value, not one from before a pause, in panels with one number", () => {
  const numbers = all.flatMap(({ panels }) => panels).filter(({ panel }) => ["stat", "bargauge"].includes(panel.type));
  expect(numbers.length).toBeGreaterThanOrEqual(8);
  for (const { queries } of numbers) {
    for (const { instant, range = false } of queries)
      expect({ instant, range }).toEqual({ instant: true, range: false });
  }
});

it("show the most important panels first", () => {
  const [first] = all;
  expect(first?.panels.slice(0, 8).map(({ panel }) => panel.title)).toEqual([
    "Outcomes unknown, 24 h",
    "Our failures",
    "Service's failures",
    "Requests",
    "Our overhead, p99",
    "Shortest token life",
    "Tokens issued, 24 h",
    "Pods",
  ]);
  const places = first?.panels.slice(0, 8).map(({ panel }) => panel.gridPos);
  expect(places).toEqual([0, 3, 6, 9, 12, 15, 18, 21].map((x) => ({ x, y: 1, w: 3, h: 6 })));
  const [unknown] = first?.panels ?? [];
  expect(unknown?.panel.fieldConfig?.defaults.thresholds?.steps.map(({ color }) => color)).toEqual(["green", "red"]);
  const [link] = unknown?.panel.fieldConfig?.defaults.links ?? [];
  expect(decodeURIComponent(link?.url ?? "")).toContain(
    '"expr":"{container=\\"countersign\\"} |= `\\"level\\":\\"error\\"` |= `\\"outcome\\":\\"unknown\\"`"',
  );
  expect(link?.url).toContain("%22datasource%22%3A%22$logs%22");
});

withTools("prometheus")("the overview counts pods once for each environment, and shows which of them fails", () => {
  const own = emptyFolder();
  const job = 'cluster="", namespace="shop", job="checkout"';
  const namedJob = 'namespace="shop", job="checkout"';
  /** As the Prometheus Operator labels it. */
  const named = { b: ', pod="checkout-b"' } as Record<string, string>;
  const pod = (instance: string) => `${job}, instance="${instance}"${named[instance] ?? ""}`;
  const inShop = (instance: string, name: string) => `namespace="shop", instance="${instance}", name="shop/${name}"`;
  const set = 'environment="production", credential="S1/main"';
  const label = (labels: string) => `{${labels}}`;
  const pods = ["a", "b", "c"];
  const environments = ["production", "sandbox"];
  const requests = (instance: string, by: string, status: number, operation = "create_order") =>
    `countersign_requests_total{${pod(instance)}, environment="production", site="S1", by="${by}", status="${status}", operation="${operation}"}`;
  const inputs = [
    ...pods.flatMap((instance) =>
      environments.map((environment) => ({
        series: `countersign_credential_active{${pod(instance)}, environment="${environment}", credential="S1/main"}`,
        values: "1x10",
      })),
    ),
    ...pods.map((instance) => ({ series: `countersign_config_info{${pod(instance)}, hash="h"}`, values: "1x10" })),
    { series: `countersign:tokens_expected:per_second{${job}, ${set}}`, values: "0.01x10" },
    ...pods.flatMap((instance) => [
      { series: `process_start_time_seconds{${pod(instance)}}`, values: "1x10" },
      { series: `countersign_credential_info{${pod(instance)}, ${set}, position="first"}`, values: "1x10" },
    ]),
    { series: requests("a", "service", 200), values: "0+60x10" },
    { series: requests("a", "service", 302, "/files/"), values: "0+60x10" },
    { series: requests("b", "service", 200), values: "0+90x10" },
    { series: requests("b", "service", 302), values: "0+30x10" },
    { series: requests("c", "countersign", 502), values: "0+120x10" },
    { series: requests("c", "service", 200).replace("production", "sandbox"), values: "0+120x10" },
    { series: `countersign_redis_up{${pod("a")}, node="cache"}`, values: "0x10" },
    { series: `countersign_redis_up{${pod("b")}, node="cache"}`, values: "1x10" },
    { series: `ALERTS{${job}, alertname="CountersignRedisDown", alertstate="firing", node="cache"}`, values: "1x10" },
    { series: `ALERTS{alertname="CountersignMetricsAbsent", alertstate="pending"}`, values: "1x10" },
  ];
  const shown = (title: string, exp_samples: object[], index = 0, instance = ".*") => {
    const found = queriedPanels(overview).find(({ panel }) => panel.title === title)?.queries[index]?.expr;
    return { expr: withValues(found, instance), eval_time: "10m", exp_samples };
  };
  const tests = [
    {
      interval: "1m",
      input_series: inputs,
      promql_expr_test: [
        shown(
          "Pods",
          environments.map((name) => ({ labels: label(`environment="${name}", credential="S1/main"`), value: 3 })),
        ),
        shown("Pods", [{ labels: label('hash="h"'), value: 3 }], 1),
        // 30 of the service's 360 answers a minute are 3xx to orders.
        shown("Service's failures", [
          { labels: label(`${namedJob}, application="shop/checkout", site="S1"`), value: 30 / 360 },
        ]),
        shown("Where requests fail", [
          { labels: label(`${namedJob}, environment="production", site="S1"`), value: 750 },
        ]),
        shown("Alerts that fire", [
          {
            labels: `ALERTS{${namedJob}, alertname="CountersignRedisDown", alertstate="firing", node="cache"}`,
            value: 1,
          },
        ]),
        shown("Pods without Redis", [{ labels: label('node="cache"'), value: 1 }]),
        shown("Failures by pod", [
          {
            labels: label(`${inShop("b", "checkout-b")}, pod="checkout-b", environment="production", by="service"`),
            value: 0.25,
          },
          // All of its orders to production, although it has served as many to the sandbox.
          { labels: label(`${inShop("c", "c")}, environment="production", by="countersign"`), value: 1 },
        ]),
        // Whichever pod is chosen: 41 steps of 15 s at 0.01 tokens a second, a first token, and one of each pod that shares none all day.
        shown("Tokens issued, 24 h", [{ labels: "{}", value: 7 + 2 }], 1, "a"),
      ],
    },
    {
      name: "tokens of three sets, shared over Redis",
      interval: "1m",
      input_series: [
        { series: `process_start_time_seconds{${pod("a")}}`, values: "1x60" },
        { series: `countersign_redis_up{${pod("a")}, node="cache"}`, values: "1x60" },
        ...["S1", "S2", "S3"].flatMap((site) => {
          const of = `environment="production", credential="${site}/main"`;
          return [
            { series: `countersign:tokens_expected:per_second{${job}, ${of}}`, values: `${1 / (0.8 * 3_600)}x60` },
            { series: `countersign_credential_info{${pod("a")}, ${of}, position="first"}`, values: "1x60" },
          ];
        }),
      ],
      promql_expr_test: [
        // At once the first tokens; within an hour tokens of an hour may be refreshed at 0 min and at 48 min.
        { ...shown("Tokens issued, 24 h", [{ labels: "{}", value: 3 }], 1), eval_time: "5m" },
        { ...shown("Tokens issued, 24 h", [{ labels: "{}", value: 6 }], 1), eval_time: "1h" },
      ],
    },
    {
      name: "a failure that began two minutes ago",
      interval: "15s",
      input_series: [
        { series: requests("a", "service", 200), values: "0+15x40 600x8" },
        { series: requests("a", "service", 302), values: "0x40 15+15x8" },
      ],
      promql_expr_test: [
        {
          ...shown("Service's failures", [
            { labels: label(`${namedJob}, application="shop/checkout", site="S1"`), value: 0.4 },
          ]),
          eval_time: "12m",
        },
      ],
    },
    {
      name: "unknown outcomes of a process that has run for 50 minutes: increase() would make more of them",
      interval: "1m",
      input_series: [
        { series: `process_start_time_seconds{${pod("a")}}`, values: "_x10 600x60" },
        { series: `countersign_unknown_outcomes_total{${pod("a")}, site="S1"}`, values: "_x10 0+3x21 63x30" },
      ],
      promql_expr_test: [{ ...shown("Outcomes unknown, 24 h", [{ labels: "{}", value: 63 }]), eval_time: "3630s" }],
    },
    {
      name: "unknown outcomes of before a container's restart count too",
      interval: "1m",
      input_series: [
        { series: `process_start_time_seconds{${pod("a")}}`, values: "1x30 1860x60" },
        { series: `countersign_unknown_outcomes_total{${pod("a")}, site="S1"}`, values: "0x20 40x10 0x30" },
      ],
      promql_expr_test: [{ ...shown("Outcomes unknown, 24 h", [{ labels: "{}", value: 40 }]), eval_time: "1h" }],
    },
  ];
  writeFileSync(join(own, "cases.yaml"), JSON.stringify({ evaluation_interval: "1m", tests }));
  expect(promtool(["test", "rules", join(own, "cases.yaml")]).said).toContain("SUCCESS");
});

it("name no job or pod without its namespace", () => {
  const panels = all.flatMap((dashboard) => dashboard.panels);
  const legends = panels.flatMap(({ queries }) => queries.map(({ legendFormat = "" }) => legendFormat));
  const marks = all
    .flatMap(({ dashboard }) => dashboard.annotations.list ?? [])
    .map(({ titleFormat = "" }) => titleFormat);
  const named = [...legends, ...marks].filter((text) => /\{\{(job|pod|instance)\}\}/.test(text));
  expect(named).toEqual([]);
});

it("lead to the page of each alert", () => {
  const links = all.flatMap(({ panels }) => panels.flatMap(({ panel }) => panel.links ?? []));
  const linked = new Set(links.map(({ title }) => title));
  expect(alerts.map(({ alert }) => alert).filter((alert) => !linked.has(alert))).toEqual([]);
});

withTools("prometheus")("show what expires, is refused or lost, once or of the worst pod", () => {
  const own = emptyFolder();
  const input_series: object[] = [];
  const given = (name: string, labels: string, values: string) =>
    input_series.push({ series: `countersign_${name}{${labels}}`, values });
  const certificate = (pod: string, use: string, seconds: number) =>
    given("certificate_expiry_timestamp_seconds", `${pod}, ${of}, listener=":7411", use="${use}"`, `${seconds}x10`);
  const named = (pod: string, name: string) => `${pod}, name="${name}"`;
  const assertion = (pod: string, credential: string, seconds: number) =>
    given("assertion_expiry_timestamp_seconds", `${pod}, ${of}, credential="${credential}"`, `${seconds}x10`);
  const [of, a, b] = ['environment="production"', 'instance="a", pod="checkout-a"', 'instance="b"'];
  certificate(a, "listener_server", 86_400);
  certificate(b, "listener_server", 7_200);
  certificate(b, "listener_ca", 300);
  assertion(a, "S1/main", 3_600);
  assertion(a, "S2/main", 4_200);
  assertion(b, "S2/main", 0);
  for (const [pod, files] of [
    [a, 1],
    [b, 2],
  ]) {
    given("site_files_refused", `${pod}, ${of}`, `${files}x10`);
    given("redis_evicted_keys_total", `${pod}, node="cache"`, "0+60x10");
    given("bridged_total", `${pod}, ${of}, site="S1", reason="token_unavailable"`, "0+60x10");
  }
  given("log_lines_dropped_total", a, "0+60x10");
  given("log_lines_dropped_total", b, "0x10");
  for (const pod of [a, 'instance="c"']) {
    given("redis_up", `${pod}, node="cache"`, "1x10");
    given("config_info", `${pod}, hash="new"`, "1x10");
  }
  given("redis_up", `${b}, node="cache"`, "0x10");
  given("config_info", `${b}, hash="old"`, "1x10");

  for (const [job, until, values] of [
    ["orders", 1_200, "1200x10"],
    ["bills", 240, "240x5 _x10"],
  ]) {
    const labels = `namespace="shop", job="${job}", ${a}`;
    given("build_info", labels, "1x10");
    given("token_expiry_timestamp_seconds", `${labels}, ${of}, credential="S1/blue"`, `${values}`);
    given("credential_last_used_timestamp_seconds", `${labels}, ${of}, credential="S1/blue"`, `${until}x10`);
  }
  given(
    "token_expiry_timestamp_seconds",
    `namespace="shop", job="orders", instance="gone", ${of}, credential="S1/blue"`,
    "60x2 stale",
  );

  const panels = all.flatMap((dashboard) => dashboard.panels);
  const shown = (title: string, samples: Readonly<Record<string, number>>, index = 0) => ({
    expr: withValues(panels.find(({ panel }) => panel.title === title)?.queries[index]?.expr),
    eval_time: "10m",
    exp_samples: Object.entries(samples).map(([labels, value]) => ({ labels: `{${labels}}`, value })),
  });
  const promql_expr_test = [
    shown("Expires next", {
      [`${named(b, "b")}, ${of}, listener=":7411", use="listener_ca"`]: 0,
      [`${named(b, "b")}, ${of}, listener=":7411", use="listener_server"`]: 6_600,
      [`${named(a, "checkout-a")}, ${of}, credential="S1/main", use="assertion"`]: 3_000,
      [`${named(b, "b")}, ${of}, credential="S2/main", use="assertion"`]: 0,
    }),
    shown("Time to expiry", {
      [`namespace="shop", job="orders", application="shop/orders", ${of}, credential="S1/blue"`]: 600,
      [`namespace="shop", job="bills", application="shop/bills", ${of}, credential="S1/blue"`]: -360,
    }),
    shown("Last use", {
      [`namespace="shop", job="orders", ${of}, credential="S1/blue"`]: -600,
      [`namespace="shop", job="bills", ${of}, credential="S1/blue"`]: 360,
    }),
    shown("Redis", { [`__name__="countersign_redis_up", node="cache", ${named(b, "b")}`]: 0 }, 1),
    shown("Pods by configuration", { [`__name__="countersign_config_info", hash="old", ${named(b, "b")}`]: 1 }, 1),
    shown("Changes refused", { [of]: 2 }, 1),
    shown("Log lines lost", { [`${a}, name="checkout-a"`]: 1 }),
    shown("Redis errors and evictions", { 'node="cache"': 1 }, 1),
    shown("Signed instead (bridge)", { 'site="S1", reason="token_unavailable"': 2 }),
  ];
  writeFileSync(
    join(own, "cases.yaml"),
    JSON.stringify({ tests: [{ interval: "1m", input_series, promql_expr_test }] }),
  );
  expect(promtool(["test", "rules", join(own, "cases.yaml")]).said).toContain("SUCCESS");
  // An axis that begins at 0 would hide an expired set.
  const expiry = panels.find(({ panel }) => panel.title === "Time to expiry")?.panel;
  expect(expiry?.fieldConfig?.defaults.min).toBeUndefined();
});

/** A query with all values in the place of its variables, or with those of `instance`. */
function withValues(expr = "", instance = ".*"): string {
  return expr
    .replaceAll("$__rate_interval", "2m")
    .replaceAll("$instance", instance)
    .replaceAll(/\$[a-z]\w*/g, ".*");
}

describe.each(all)("$file", ({ file, dashboard, panels }) => {
  it("is the same as the generator's output", () => {
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(JSON.parse(textOf(dashboard)));
  });

  it("has Grafana's current schema", () => {
    expect(dashboard.schemaVersion).toBe(defaultDashboard().schemaVersion);
  });

  it("offers a data source, and each choice that its panels use, by scope", () => {
    const offered = (dashboard.templating.list ?? []).map(({ name }) => name).filter((name) => name !== "logs");
    const panels = JSON.stringify(dashboard.panels);
    const choices = ["cluster", "namespace", "job", "instance", "environment", "site", "credential"];
    expect(offered).toEqual(["datasource", ...choices.filter((name) => panels.includes(`$${name}`))]);
    expect(offered).toEqual(expect.arrayContaining(["cluster", "namespace", "job", "instance", "environment"]));
    for (const { type, multi, includeAll } of dashboard.templating.list ?? []) {
      if (type === "query") expect({ multi, includeAll }).toEqual({ multi: true, includeAll: true });
    }
  });

  it("marks reloads and deployments", () => {
    expect(dashboard.annotations.list?.map(({ name, enable }) => ({ name, enable }))).toEqual([
      { name: "Reloads", enable: true },
      { name: "Deployments", enable: true },
    ]);
    for (const { expr = "" } of dashboard.annotations.list ?? []) {
      const named = [...expr.matchAll(/(countersign_\w+)\{/g)].map(([, name = ""]) => name);
      expect(named.length).toBeGreaterThan(0);
      expect(named.filter((name) => !known.has(name))).toEqual([]);
    }
  });

  it("has panels with ids of their own, none over another", () => {
    const placed = dashboard.panels ?? [];
    expect(new Set(placed.map(({ id }) => id)).size).toBe(placed.length);
    const pairs = placed.flatMap((one, index) => placed.slice(index + 1).map((other) => [one, other] as const));
    expect(pairs.filter(([one, other]) => overlap(one, other)).map((pair) => pair.map(({ title }) => title))).toEqual(
      [],
    );
    expect(placed.filter(({ gridPos: { x, w } = { x: 24, w: 24 } }) => x + w > 24)).toEqual([]);
  });

  it.each(panels)(
    "$panel.title: has a description and a unit, and uses the chosen data source",
    ({ panel, queries }) => {
      expect(panel.description).toMatch(/^.{30,}\.$/);
      expect(panel.fieldConfig?.defaults.unit).toMatch(/^[a-z]+$/);
      expect(panel.datasource).toEqual({ type: "prometheus", uid: "$datasource" });
      expect(queries.length).toBeGreaterThan(0);
      for (const { datasource } of queries) expect(datasource).toEqual(panel.datasource);
    },
  );

  it("links to pages of alerts, and names no other runbook", () => {
    expect(panels.some(({ panel }) => (panel.links ?? []).length > 0)).toBe(true);
    for (const { panel } of panels) {
      expect(panel.description).not.toMatch(/runbook/i);
      for (const { title, url } of panel.links ?? []) expect(pages.get(title)).toBe(url);
    }
  });

  it("shows the chosen pods alone, but the tokens to expect of all: they are shared", () => {
    const ofPods = panels.flatMap(({ queries }) => queries).filter(({ expr }) => !expr.includes(":tokens_expected:"));
    const selectors = ofPods.flatMap(({ expr }) => expr.match(/\b(?!ALERTS)\w+\{[^}]*\}/g) ?? []);
    expect(selectors.filter((selector) => !selector.includes('instance=~"$instance"'))).toEqual([]);
  });

  it("names only metrics that exist", () => {
    expect(panels.flatMap(metricsOf).filter((name) => !known.has(name))).toEqual([]);
  });
});

function overlap(one: Panel | RowPanel, other: Panel | RowPanel): boolean {
  const [a, b] = [one.gridPos, other.gridPos];
  if (a === undefined || b === undefined) return true;
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

/** The pages of alerts, as the alerts themselves link to them. */
const pages = new Map(alerts.map(({ alert, annotations }) => [alert, annotations?.["runbook_url"]]));

const metrics = createMetrics().registry.getMetricsAsArray();
const known = new Set([
  ...metrics.map(({ name }) => name),
  ...metrics.flatMap(({ name, type }) => (String(type) === "histogram" ? [`${name}_bucket`] : [])),
  ...rules.flatMap(({ record = [] }) => record),
]);

/** The names before the braces of selectors. */
function metricsOf({ queries }: QueriedPanel): string[] {
  return queries.flatMap(({ expr }) => [...expr.matchAll(/([a-z0-9_:]+)\{/g)].map(([, name = ""]) => name));
}
