/** The mixin: by itself it gives the very alerts and dashboards of deploy/; `_config` changes what it says, and nothing else. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { mixinRulesOf } from "../../../scripts/mixin/rules.ts";
import { selectorsOf } from "../prometheus/selectors.ts";
import { hasPrometheus, promtool, rulesFile, withPrometheus } from "../prometheus/tools.ts";
import { type Manifest, parse } from "./manifests.ts";
import { run, withTools } from "./tools.ts";

const { isThere, named } = withTools("jsonnet");
const test = it.runIf(isThere);
const dashboards = "deploy/grafana/dashboards";
const own: Manifest[] = parse(readFileSync(rulesFile, "utf8"))[0].groups;

/** What the mixin gives, with these settings in Jsonnet. */
function render(config = ""): Manifest {
  const { exitCode, stdout, stderr } = evaluate(config);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return JSON.parse(stdout);
}

function evaluate(config: string) {
  const shown = "{ alerts: m.prometheusAlerts, rules: m.prometheusRules, dashboards: m.grafanaDashboards }";
  const mixin = `(import 'deploy/mixin/mixin.libsonnet') { _config+:: { ${config} } }`;
  return run("jsonnet", ["-J", ".", "-e", `local m = ${mixin}; ${shown}`]);
}

it("has rules that are made from deploy/prometheus", () => {
  const made = JSON.parse(mixinRulesOf(readFileSync(rulesFile, "utf8")));
  expect(JSON.parse(readFileSync("deploy/mixin/rules.json", "utf8"))).toEqual(made);
});

test(named("gives the alerts, recorded series and dashboards of deploy/, and nothing else"), () => {
  const given = render();
  expect([...given.alerts.groups, ...given.rules.groups]).toEqual(own);
  const files = readdirSync(dashboards);
  expect(given.dashboards).toEqual(
    Object.fromEntries(
      files.map((file) => [`countersign-${file}`, JSON.parse(readFileSync(join(dashboards, file), "utf8"))]),
    ),
  );
});

test(named("puts its selector to every series but the recorded ones, and to the variables of dashboards"), () => {
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

test(named("changes severities, labels, annotations and single alerts as the chart does"), () => {
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
        runbook_url: `https://git.example/${annotations.runbook_url}`,
        ...(isRedis && { summary: "away" }),
      },
    };
  });
  expect(given.alerts.groups.flatMap(({ rules }: Manifest) => rules)).toEqual(wanted);
});

test(named("refuses an alert that there is not"), () => {
  const { exitCode, stderr } = evaluate("alerts: { CountersignRedis: { enabled: false } }");
  expect(exitCode).not.toBe(0);
  expect(stderr).toContain("_config.alerts has CountersignRedis; there are: CountersignOutcomeUnknown, ");
});

test(named("is used as its page says"), () => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-mixin-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [, main = ""] = /```jsonnet\n([\s\S]+?)```/.exec(readFileSync("deploy/mixin/README.md", "utf8")) ?? [];
  writeFileSync(join(folder, "main.jsonnet"), main);
  // As jb installs it.
  mkdirSync(join(folder, "vendor/github.com/countersign"), { recursive: true });
  symlinkSync(resolve("."), join(folder, "vendor/github.com/countersign/countersign"));
  mkdirSync(join(folder, "out"));
  const args = ["-J", join(folder, "vendor"), "-m", join(folder, "out"), join(folder, "main.jsonnet")];
  expect(run("jsonnet", args)).toMatchObject({ exitCode: 0, stderr: "" });
  const files = readdirSync(join(folder, "out"));
  expect(files.sort()).toEqual(
    ["alerts.json", "rules.json", ...readdirSync(dashboards).map((file) => `countersign-${file}`)].sort(),
  );
  if (!hasPrometheus) return;
  for (const file of ["alerts.json", "rules.json"]) {
    const { status, said } = promtool(["check", "rules", "--lint=all", "--lint-fatal", join(folder, "out", file)]);
    expect({ status, said }).toMatchObject({ status: 0, said: expect.stringContaining("SUCCESS") });
  }
});

// The series of its cases have no label `cluster`; it asks a recorded series too.
it.runIf(isThere && hasPrometheus).each([
  { selector: `cluster=""`, what: "as ever where its selector takes them", expected: 0 },
  { selector: `cluster="south"`, what: "no more where its selector takes none", expected: 1 },
])(named(withPrometheus("fires $what")), ({ selector, expected }) => {
  const alert = "CountersignTokensAboveExpected";
  const { alerts, rules } = render(`selector: '${selector}'`);
  const folder = mkdtempSync(join(tmpdir(), "countersign-mixin-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const meant = alerts.groups.map((group: Manifest) => {
    return { ...group, rules: group.rules.filter((rule: Manifest) => rule.alert === alert) };
  });
  writeFileSync(join(folder, "rules.json"), JSON.stringify({ groups: [...meant, ...rules.groups] }));
  const cases = readFileSync(`test/platform/prometheus/alerts/${alert}.yaml`, "utf8");
  writeFileSync(join(folder, "cases.yaml"), cases.replace(/^rule_files: .*$/m, "rule_files: [rules.json]"));
  expect(promtool(["test", "rules", join(folder, "cases.yaml")]).status).toBe(expected);
});
