/** Alerts by the chart's values: severities, labels, links and exceptions. */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { rulesFile } from "../prometheus/rules.ts";
import { openCharts, set, setJson, values } from "./charts.ts";
import { complaintsOfDefinitions } from "./judges.ts";
import { type Manifest, ofKind, parse } from "./manifests.ts";
import { withTools } from "./tools.ts";

const ofChart = withTools("helm", "custom-resources");
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
