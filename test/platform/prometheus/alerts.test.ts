/** Every alert fires in its cases, and stays silent in cases where it would wake somebody wrongly: alert-cases.txt. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { failures } from "../../../src/model/errors.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { withTools } from "../kubernetes/tools.ts";
import { promtoolCases, tested } from "./alert-cases.ts";
import { alerts, fileWithOnly, promtool, rulesFile } from "./rules.ts";

it("there are cases for every alert, and for no other", () => {
  expect(tested.toSorted()).toEqual(alerts.map(({ alert }) => alert).sort());
});

it.each(alerts)("$alert has cases in which it fires, and others in which it is silent", ({ alert }) => {
  const kinds = promtoolCases(alert, rulesFile).tests.map(({ name }) => name.replace(/:.*/, ""));
  expect([...new Set(kinds)].sort()).toEqual(["fires", "silent"]);
});

it.each(alerts)("$alert names the worst pods in a case, if a single pod can cause it", ({ alert, annotations }) => {
  const told = promtoolCases(alert, rulesFile).tests.flatMap(({ alert_rule_test: [one] }) => one?.exp_alerts ?? []);
  expect(told.some(({ exp_annotations }) => "pods" in exp_annotations)).toBe("pods" in (annotations ?? {}));
});

it("CountersignFailures names each code that is a 5xx of Countersign's own to an order", () => {
  const { codes = "" } = alerts.find(({ alert }) => alert === "CountersignFailures")?.annotations ?? {};
  const [, named] = /code=~'([^']+)'/.exec(codes) ?? [];
  const own = Object.entries(failures).filter(([, { status }]) => status >= 500);
  const ofCallbacks = /^(callback|application|replay)_/;
  const orders = own.flatMap(([code]) => (ofCallbacks.test(code) ? [] : [code]));
  const all = Object.keys(failures);
  expect(all.filter((code) => new RegExp(`^(${named})$`).test(code)).sort()).toEqual(orders.sort());
});

const test = withTools("prometheus");

test.each(alerts)("$alert fires and is silent in its cases", ({ alert }) => {
  // promtool evaluates each rule of the file at each moment of each case: a file with this alert alone has a twentieth of the rules.
  const own = emptyFolder();
  const cases = promtoolCases(alert, "rules.yaml");
  const told = cases.tests.flatMap(({ alert_rule_test: [one] }) =>
    Object.keys(one?.exp_alerts[0]?.exp_annotations ?? {}),
  );
  // JSON is YAML.
  writeFileSync(join(own, "rules.yaml"), JSON.stringify(fileWithOnly(alert, told)));
  writeFileSync(join(own, "cases.yaml"), JSON.stringify(cases));
  const { status, said } = promtool(["test", "rules", join(own, "cases.yaml")]);
  expect(said).toContain("SUCCESS");
  expect(status).toBe(0);
});

test("an alert shows the exact count, of before the first scrape and after it", () => {
  const own = emptyFolder();
  const rule = alerts.find(({ alert }) => alert === "CountersignCallbacksTooOld");
  const pod = { namespace: "shop", job: "checkout" };
  const labels = Object.entries({ ...pod, instance: "a", environment: "production", site: "S1" });
  const series = (name: string, more = "") => `${name}{${labels.map(([key, of]) => `${key}="${of}"`)}${more}}`;
  const shown = (text = "") =>
    text
      .replace(application, "shop/checkout")
      .replace("{{ $labels.site }} ({{ $labels.environment }})", "S1 (production)")
      .replace(/\{\{.*?\}\}/, "7");
  const alertAtMinute = (minute: number) => ({
    alertname: rule?.alert,
    eval_time: `${minute}m`,
    exp_alerts: [
      {
        exp_labels: { severity: "ticket", ...pod, environment: "production", site: "S1" },
        exp_annotations: Object.fromEntries(
          Object.entries(rule?.annotations ?? {}).map(([key, text]) => [key, shown(text)]),
        ),
      },
    ],
  });
  const test = {
    interval: "1m",
    input_series: [
      { series: series("countersign_callbacks_total", ',result="callback_too_old"'), values: "_x30 4x2 7x20" },
      { series: series("process_start_time_seconds"), values: "_x30 1790x30" },
    ],
    alert_rule_test: [33, 36, 40].map(alertAtMinute),
  };
  writeFileSync(join(own, "rules.yaml"), JSON.stringify(fileWithOnly("CountersignCallbacksTooOld")));
  writeFileSync(
    join(own, "cases.yaml"),
    JSON.stringify({ rule_files: ["rules.yaml"], evaluation_interval: "30s", tests: [test] }),
  );
  const { said } = promtool(["test", "rules", join(own, "cases.yaml")]);
  expect(said).toContain("SUCCESS");
});

test("promtool finds nothing wrong with the rules", () => {
  const { status, said } = promtool(["check", "rules", "--lint=all", "--lint-fatal", rulesFile]);
  expect(said).not.toContain("FAILED");
  expect(status).toBe(0);
});

test("promtool finds nothing wrong with the configuration that loads the rules", () => {
  const { status, said } = promtool(["check", "config", "deploy/prometheus/prometheus.yaml"]);
  expect(said).toContain("SUCCESS: 1 rule files found");
  expect(status).toBe(0);
});

it.each(alerts)("$alert has a severity, a meaning, an advice and a link to its page", (alert) => {
  const { labels, annotations = {} } = alert;
  expect(labels?.["severity"]).toMatch(/^(page|ticket)$/);
  expect(
    Object.keys(annotations)
      .filter((key) => !["codes", "pods", "statuses"].includes(key))
      .sort(),
  ).toEqual(["description", "runbook_url", "summary"]);
  // An application without a namespace, such as one outside of Kubernetes, is named by its job alone.
  expect(annotations["summary"]).toContain(alert.alert === "CountersignMetricsAbsent" ? inApplication : application);
  expect(annotations["description"]?.match(/[^.]+\.(?= |$)/g)).toHaveLength(2);
  expect(annotations["runbook_url"]).toBe(`${documents}/alerts/${alert.alert}.md`);
});

it.each(alerts.filter((alert) => "keep_firing_for" in alert))("$alert: its page says when it is over", ({ alert }) => {
  const over = /^\*\*Over\*\* (12 (to 15 )?minutes after the last |10 minutes after an order of the site succeeds)/m;
  expect(readFileSync(`docs/alerts/${alert}.md`, "utf8")).toMatch(over);
});

const application = "{{ with $labels.namespace }}{{ . }}/{{ end }}{{ $labels.job }}";
/** Of an alert that may be on no application at all. */
const inApplication = "{{ with $labels.job }} in {{ with $labels.namespace }}{{ . }}/{{ end }}{{ . }}{{ end }}";
const documents = "https://github.com/countersign/countersign/blob/main/docs";
