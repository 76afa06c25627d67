/** The alerts of the chart: severities, labels, links and exceptions by value. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { stringify } from "yaml";
import { promtool } from "../prometheus/tools.ts";
import { openCharts, set, setJson, values } from "./charts.ts";
import { complaintsOfDefinitions } from "./judges.ts";
import { type Manifest, ofKind, parse } from "./manifests.ts";
import { withTools } from "./tools.ts";

const test = withTools("helm", "custom-resources");
const charts = openCharts();

const { groups } = parse(readFileSync("helm/countersign/files/rules.yaml", "utf8"))[0];
const alertsOf = (of: Manifest[]): Manifest[] => of.flatMap(({ rules }) => rules).filter(({ alert }) => alert);

const render = (args: readonly string[]) => ofKind(charts.objects("countersign", args), "PrometheusRule");

test("have the severities, labels and annotations that the values say, for all and for single ones", () => {
  const severities: Record<string, string> = { page: "critical", ticket: "warning" };
  const wanted = alertsOf(groups).flatMap((alert) => {
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
  expect(new Set(alertsOf(groups).map(({ labels }) => labels.severity))).toEqual(new Set(Object.keys(severities)));
  expect(alertsOf(render(values.everything).spec.groups)).toEqual(wanted);
});

test("leave no empty group where all of one are left out", () => {
  const pages = groups.find(({ name }: Manifest) => name === "countersign-pages").rules;
  const left = Object.fromEntries(pages.map(({ alert }: Manifest) => [alert, { enabled: false }]));
  const rule = render([...values.everything, ...setJson("rules.alerts", left)]);
  const names = groups.map(({ name }: Manifest) => name).filter((name: string) => name !== "countersign-pages");
  expect(rule.spec.groups.map(({ name }: Manifest) => name)).toEqual(names);
  expect(complaintsOfDefinitions([rule])).toEqual([]);
});

test("are those of the file where values take even the defaults away", () => {
  const none = ["alerts", "alertLabels", "alertAnnotations"].map((key) => `rules.${key}=null`).join(",");
  const args = [...values.gateway, ...set(`rules.runbookBaseUrl=,${none}`)];
  expect(render(args).spec.groups).toEqual(groups);
});

withTools("helm", "prometheus")("are what promtool finds nothing wrong with", () => {
  const file = join(charts.folder, "rules.yaml");
  const { spec } = render(values.everything);
  writeFileSync(file, stringify(spec));
  const { status, said } = promtool(["check", "rules", "--lint=all", "--lint-fatal", file]);
  expect(said).toContain(`SUCCESS: ${spec.groups.flatMap(({ rules }: Manifest) => rules).length} rules found`);
  expect(status).toBe(0);
});
