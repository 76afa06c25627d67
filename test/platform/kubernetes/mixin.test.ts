/** The mixin: by itself it gives the alerts and dashboards of the chart; `_config` changes what it says, and nothing else. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { makeMixin } from "../../../scripts/mixin/mixin.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { promtoolCases } from "../prometheus/alert-cases.ts";
import { selectorsOf } from "../prometheus/rules.ts";
import { promtool, rulesFile } from "../prometheus/tools.ts";
import { type Manifest, parse } from "./manifests.ts";
import { isThere, run, withTools } from "./tools.ts";

const test = withTools("jsonnet");
const dashboards = "helm/countersign/files/dashboards";
const own: Manifest[] = parse(readFileSync(rulesFile, "utf8"))[0].groups;

const vendor = mkdtempSync(join(tmpdir(), "countersign-vendor-"));
makeMixin(join(vendor, "countersign-mixin"));
afterAll(() => rmSync(vendor, { recursive: true }));

/** What the mixin gives, with these settings in Jsonnet. */
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

test("gives the alerts, recorded series and dashboards of the chart, and nothing else", () => {
  const given = render();
  expect([...given.alerts.groups, ...given.rules.groups]).toEqual(own);
  const files = readdirSync(dashboards);
  expect(given.dashboards).toEqual(
    Object.fromEntries(
      files.map((file) => [`countersign-${file}`, JSON.parse(readFileSync(join(dashboards, file), "utf8"))]),
    ),
  );
});

test("puts its selector to every series but the recorded ones, and to the variables of dashboards", () => {
  const given = render(`selector: 'cluster="north"'`);
  const groups: Manifest[] = [...given.alerts.groups, ...given.rules.groups];
  const selectors = groups
    .flatMap(({ rules }) => rules)
    .flatMap(({ expr }) => selectorsOf(expr.replaceAll(/^\s*#.*/gm, "")));
  const [recorded, others] = [true, false].map((is) => selectors.filter((each) => /^\w+:/.test(each) === is));
  expect(new Set(recorded)).toEqual(new Set(["countersign:tokens_expected:per_second"]));
  expect(others?.length).toBeGreaterThan(50);
  for (const each of others ?? []) expect(each).toMatch(/^\w+\{cluster="north"(, |\})/);
  for (const { templating } of Object.values<Manifest>(given.dashboards)) {
    const asked = templating.list.filter(({ type }: Manifest) => type === "query");
    expect(asked.length).toBeGreaterThan(2);
    for (const { query, definition } of asked) {
      expect(definition).toMatch(/^label_values\(\w+\{cluster="north"(, .+)?\}, \w+\)$/);
      expect(query.query).toBe(definition);
    }
  }
});

test("changes severities, labels, annotations and single alerts as the chart does", () => {
  const given = render(`
    severity: { page: 'critical', ticket: 'warning' },
    alertLabels: { team: 'payments' }, alertAnnotations: { dashboard: 'overview' }, runbookBaseUrl: 'https://git.example/',
    alerts: { CountersignClockSkew: { enabled: false },
      CountersignRedisDown: { severity: 'page', 'for': '20m', labels: { team: 'platform' }, annotations: { summary: 'away' } } }`);
  const severities: Record<string, string> = { page: "critical", ticket: "warning" };
  const alerts = own.flatMap(({ rules }) => rules).filter(({ alert }) => alert && alert !== "CountersignClockSkew");
  const wanted = alerts.map((alert: Manifest) => {
    const { labels, annotations } = alert;
    const isRedis = alert.alert === "CountersignRedisDown";
    return {
      ...alert,
      ...(isRedis && { for: "20m" }),
      labels: isRedis
        ? { severity: "critical", team: "platform" }
        : { severity: severities[labels.severity], team: "payments" },
      annotations: {
        ...annotations,
        dashboard: "overview",
        runbook_url: annotations.runbook_url.replace(
          "https://github.com/countersign/countersign/blob/main/",
          "https://git.example/",
        ),
        ...(isRedis && { summary: "away" }),
      },
    };
  });
  expect(given.alerts.groups.flatMap(({ rules }: Manifest) => rules)).toEqual(wanted);
});

test("refuses an alert that there is not", () => {
  const { exitCode, stderr } = evaluate("alerts: { CountersignRedis: { enabled: false } }");
  expect(exitCode).not.toBe(0);
  expect(stderr).toContain("_config.alerts has CountersignRedis; there are: CountersignOutcomeUnknown, ");
});

test("is used as its page says", () => {
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

// The series of its cases have no label `cluster`; it asks a recorded series too.
withTools("jsonnet", "prometheus").each([
  { selector: `cluster=""`, what: "as ever where its selector takes them", expected: 0 },
  { selector: `cluster="south"`, what: "no more where its selector takes none", expected: 1 },
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
