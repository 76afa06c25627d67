/**
 * Row 70: every alert fires in its case, and stays silent in the cases that would wake somebody wrongly. The cases are promtool's own
 * files, one for each alert: test/platform/prometheus/alerts.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { alerts, fileWithOnly } from "./rules.ts";
import { hasPrometheus, promtool, rulesFile, withPrometheus } from "./tools.ts";

interface Case {
  readonly name: string;
  readonly promql_expr_test: readonly { readonly expr: string; readonly exp_samples: readonly unknown[] }[];
}

const folder = "test/platform/prometheus/alerts";
const readCases = (alert: string) => readFileSync(`${folder}/${alert}.yaml`, "utf8");
const casesOf = (alert: string) => (parse(readCases(alert)) as { readonly tests: readonly Case[] }).tests;

const allRules = /^rule_files: \[\.\.\/\.\.\/\.\.\/\.\.\/deploy\/prometheus\/rules\.yaml\]$/m;

it("has a file of cases for every alert, and no other", () => {
  expect(readdirSync(folder).sort()).toEqual(alerts.map(({ alert }) => `${alert}.yaml`).sort());
});

it.each(alerts)("$alert has cases in which it fires, and others in which it is silent", ({ alert }) => {
  const kinds = casesOf(alert).map(({ name, promql_expr_test: [asked, ...more] }) => {
    expect(more).toEqual([]);
    expect(asked?.expr).toContain(`alertname="${alert}", alertstate="firing"`);
    const kind = asked?.exp_samples.length === 0 ? "silent" : "fires";
    expect(name).toMatch(new RegExp(`^${kind}: `));
    return kind;
  });
  expect(kinds).toContain("fires");
  expect(kinds).toContain("silent");
});

it.runIf(hasPrometheus).each(alerts)(withPrometheus("$alert does so"), ({ alert }) => {
  const cases = readCases(alert);
  expect(cases).toMatch(allRules);
  // promtool evaluates each rule of the file at each moment of each case: with this alert alone, a twentieth of them.
  const own = mkdtempSync(join(tmpdir(), "countersign-alerts-"));
  onTestFinished(() => rmSync(own, { recursive: true }));
  // JSON is YAML.
  writeFileSync(join(own, "rules.yaml"), JSON.stringify(fileWithOnly(alert)));
  writeFileSync(join(own, "cases.yaml"), cases.replace(allRules, "rule_files: [rules.yaml]"));
  const { status, said } = promtool(["test", "rules", join(own, "cases.yaml")]);
  expect(said).toContain("SUCCESS");
  expect(status).toBe(0);
});

it.runIf(hasPrometheus)(withPrometheus("promtool finds nothing wrong with the rules"), () => {
  const { status, said } = promtool(["check", "rules", "--lint=all", "--lint-fatal", rulesFile]);
  expect(said).not.toContain("FAILED");
  expect(status).toBe(0);
});

it.runIf(hasPrometheus)(withPrometheus("nor with the configuration that loads them"), () => {
  const { status, said } = promtool(["check", "config", "deploy/prometheus/prometheus.yaml"]);
  expect(said).toContain("SUCCESS: 1 rule files found");
  expect(status).toBe(0);
});

it.each(alerts)("$alert says how bad it is, what it means and what to do, and where that is written", (alert) => {
  const { labels, annotations = {} } = alert;
  expect(labels?.["severity"]).toMatch(/^(page|ticket)$/);
  expect(Object.keys(annotations).sort()).toEqual(["description", "runbook_url", "summary"]);
  expect(annotations["description"]?.match(/[^.]+\.(?= |$)/g)).toHaveLength(2);
  const [, heading = ""] = /^docs\/operations\.md#(.+)$/.exec(annotations["runbook_url"] ?? "") ?? [];
  expect(headings).toContain(heading);
});

/** As GitHub links to them. */
const headings = [...readFileSync("docs/operations.md", "utf8").matchAll(/^## (.+)$/gm)].map(([, heading = ""]) =>
  heading.toLowerCase().replaceAll(" ", "-"),
);
