/**
 * Alerts by the chart's values and by the mixin's `_config`: severities, labels, links and exceptions. By default the mixin has the
 * alerts and dashboards of the chart; `_config` changes only what it names.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { makeMixin } from "../../../scripts/mixin/mixin.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { promtoolCases } from "../prometheus/alert-cases.ts";
import { promtool, rulesFile, selectorsOf } from "../prometheus/rules.ts";
import { openCharts, set, setJson, values } from "./charts.ts";
import { complaintsOfDefinitions } from "./judges.ts";
import { type Manifest, ofKind, parse } from "./manifests.ts";
import { isThere, run, withTools } from "./tools.ts";

const ofChart = withTools("helm", "custom-resources");
const ofMixin = withTools("jsonnet");
const charts = openCharts();

const { groups } = parse(readFileSync(rulesFile, "utf8"))[0];
const alertsOf = (of: Manifest[]): Manifest[] => of.flatMap(({ rules }) => rules).filter(({ alert }) => alert);

/** The alerts as the values of gateway-everything.yaml must change them. */
function wanted(): Manifest[] {
  const severities: Record<string, string> = { page: "critical", ticket: "warning" };
  return alertsOf(groups).flatMap((alert) => {
    const { severity } = alert.labels;
    const labels = { ...alert.labels, severity: severities[severity], team: "payments" };
    const annotations = { ...alert.annotations, dashboard: "countersign-overview" };
    const common = { ...alert, labels, annotations };
    if (alert.alert === "CountersignClockSkew") return [];
    if (alert.alert === "CountersignInFlightNearLimit") return [{ ...common, labels: { ...labels, severity: "info" } }];
    if (alert.alert !== "CountersignRedisDown") return [common];
    const own = { labels: { ...labels, severity: "critical", team: "platform" }, for: "20m" };
    return [{ ...common, ...own, annotations: { ...annotations, summary: "Redis is away" } }];
  });
}

const rulesOfChart = (args: readonly string[]) => ofKind(charts.objects("countersign", args), "PrometheusRule");

ofChart("have the severities, labels and annotations in the values, for all alerts and for single ones", () => {
  expect(new Set(alertsOf(groups).map(({ labels }) => labels.severity))).toEqual(new Set(["page", "ticket"]));
  expect(alertsOf(rulesOfChart(values.everything).spec.groups)).toEqual(wanted());
});

ofChart("leave what is recorded if all alerts are disabled", () => {
  const left = Object.fromEntries(alertsOf(groups).map(({ alert }) => [alert, { enabled: false }]));
  const rule = rulesOfChart([...values.everything, ...setJson("rules.alerts", left)]);
  const [{ rules, ...group }] = groups;
  expect(rule.spec.groups).toEqual([{ ...group, rules: rules.filter(({ record }: Manifest) => record) }]);
  expect(complaintsOfDefinitions([rule])).toEqual([]);
});

ofChart("are those of the file if the values remove even the defaults", () => {
  const none = ["alerts", "alertLabels", "alertAnnotations"].map((key) => `rules.${key}=null`).join(",");
  const args = [...values.gateway, ...set(`rules.runbookBaseUrl=,${none}`)];
  expect(rulesOfChart(args).spec.groups).toEqual(groups);
});

const dashboards = "helm/countersign/files/dashboards";
const vendor = mkdtempSync(join(tmpdir(), "countersign-vendor-"));
makeMixin(join(vendor, "countersign-mixin"));
afterAll(() => rmSync(vendor, { recursive: true }));

/** The mixin's output, with these settings in Jsonnet. */
function render(config = ""): Manifest {
  const { exitCode, stdout, stderr } = evaluate(config);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return JSON.parse(stdout);
}

function evaluate(config: string) {
  const shown = "{ alerts: m.prometheusAlerts, rules: m.prometheusRules, dashboards: m.grafanaDashboards }";
  const mixin = `(import 'countersign-mixin/mixin.libsonnet') { _config+:: { ${config} } }`;
  return run("jsonnet", ["-J", vendor, "-e", `local m = ${mixin}; ${shown}`]);
}

ofMixin("has the alerts, recorded series and dashboards of the chart, and nothing else", () => {
  const given = render();
  const [{ rules, ...group }] = groups;
  const [alerts, recorded] = [alertsOf(groups), rules.filter(({ record }: Manifest) => record)];
  expect(given.alerts.groups).toEqual([{ ...group, rules: alerts }]);
  expect(given.rules.groups).toEqual([{ ...group, name: "countersign-recorded", rules: recorded }]);
  const files = readdirSync(dashboards);
  expect(given.dashboards).toEqual(
    Object.fromEntries(
      files.map((file) => [`countersign-${file}`, JSON.parse(readFileSync(join(dashboards, file), "utf8"))]),
    ),
  );
});

ofMixin("adds its selector to every series except the recorded ones, and to the variables of dashboards", () => {
  const given = render(`selector: 'cluster="north"'`);
  const all: Manifest[] = [...given.alerts.groups, ...given.rules.groups];
  const selectors = all
    .flatMap(({ rules }) => rules)
    .flatMap(({ expr }) => selectorsOf(expr.replaceAll(/^\s*#.*/gm, "")));
  const [recorded, others] = [true, false].map((is) => selectors.filter((each) => /^\w+:/.test(each) === is));
  const names = recorded?.map((each) => each.replace(/\{.*/, ""));
  expect(new Set(names)).toEqual(new Set(["countersign:counted", "countersign:tokens_expected:per_second"]));
  expect(others?.length).toBeGreaterThan(20);
  for (const each of others ?? []) expect(each).toMatch(/^\w*\{cluster="north"(, |\})/);
  for (const { templating } of Object.values<Manifest>(given.dashboards)) {
    const asked = templating.list.filter(({ type }: Manifest) => type === "query");
    expect(asked.length).toBeGreaterThan(2);
    for (const { query, definition } of asked) {
      expect(definition).toMatch(/^label_values\(\w+\{cluster="north"(, .+)?\}, \w+\)$/);
      expect(query.query).toBe(definition);
    }
  }
});

ofMixin("changes severities, labels, annotations and single alerts as the chart does by the same values", () => {
  const { rules } = parse(readFileSync("test/platform/kubernetes/values/gateway-everything.yaml", "utf8"))[0];
  const { severity, alertLabels, alertAnnotations, alerts } = rules;
  const config = { severity, alertLabels, alertAnnotations, alerts, runbookBaseUrl: "https://git.example/" };
  const given = render(JSON.stringify(config).slice(1, -1));
  const text = JSON.stringify(wanted()).replaceAll(
    "https://github.com/countersign/countersign/blob/main/",
    config.runbookBaseUrl,
  );
  expect(alertsOf(given.alerts.groups)).toEqual(JSON.parse(text));
});

ofMixin("refuses an alert that does not exist", () => {
  const { exitCode, stderr } = evaluate("alerts: { CountersignRedis: { enabled: false } }");
  expect(exitCode).not.toBe(0);
  expect(stderr).toContain("_config.alerts has CountersignRedis; there are: CountersignOutcomeUnknown, ");
});

ofMixin("works as its page describes", () => {
  const folder = emptyFolder();
  const [, main = ""] = /```jsonnet\n([\s\S]+?)```/.exec(readFileSync("deploy/mixin/README.md", "utf8")) ?? [];
  writeFileSync(join(folder, "main.jsonnet"), main);
  mkdirSync(join(folder, "out"));
  const args = ["-J", vendor, "-m", join(folder, "out"), join(folder, "main.jsonnet")];
  expect(run("jsonnet", args)).toMatchObject({ exitCode: 0, stderr: "" });
  const files = readdirSync(join(folder, "out"));
  expect(files.sort()).toEqual(
    ["alerts.json", "rules.json", ...readdirSync(dashboards).map((file) => `countersign-${file}`)].sort(),
  );
  if (!isThere("prometheus")) return;
  for (const file of ["alerts.json", "rules.json"]) {
    const { status, said } = promtool(["check", "rules", "--lint=all", "--lint-fatal", join(folder, "out", file)]);
    expect({ status, said }).toMatchObject({ status: 0, said: expect.stringContaining("SUCCESS") });
  }
});

// The series of this alert's cases have no label `cluster`; the alert also uses a recorded series.
withTools("jsonnet", "prometheus").each([
  { selector: `cluster=""`, what: "as usual if its selector matches them", expected: 0 },
  { selector: `cluster="south"`, what: "no more if its selector matches none", expected: 1 },
])("fires $what", ({ selector, expected }) => {
  const alert = "CountersignTokensAboveExpected";
  const { alerts, rules } = render(`selector: '${selector}'`);
  const folder = emptyFolder();
  const meant = alerts.groups.map((group: Manifest) => {
    return { ...group, rules: group.rules.filter((rule: Manifest) => rule.alert === alert) };
  });
  writeFileSync(join(folder, "rules.json"), JSON.stringify({ groups: [...meant, ...rules.groups] }));
  writeFileSync(join(folder, "cases.yaml"), JSON.stringify(promtoolCases(alert, "rules.json")));
  expect(promtool(["test", "rules", join(folder, "cases.yaml")]).status).toBe(expected);
});
