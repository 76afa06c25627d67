/** docs/kubernetes.md: what it shows renders, and a cluster and Countersign accept it. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { version } from "../../../src/version.ts";
import { openCharts } from "./charts.ts";
import { check } from "./fake-secrets.ts";
import { complaintsOfDefinitions, complaintsOfOpenApi, complaintsOfPodSecurity } from "./judges.ts";
import { ofKind, podOf, sidecarOf } from "./manifests.ts";
import { block, page } from "./page.ts";
import { withTools } from "./tools.ts";

const test = withTools("helm", "pod-security", "custom-resources", "kubernetes-validate");
const charts = openCharts();

test("the values render with the example's chart, and all that comes of them is accepted", () => {
  const values = join(charts.folder, "page-values.yaml");
  writeFileSync(values, block("values"));
  const objects = charts.objects("example-app", ["--values", values]);
  expect(complaintsOfOpenApi(objects, "1.29")).toEqual([]);
  expect(complaintsOfPodSecurity(objects)).toEqual([]);
  expect(complaintsOfDefinitions(objects)).toEqual([]);
  const kinds = objects.map(({ kind }) => kind);
  for (const kind of ["Deployment", "PodMonitor", "PrometheusRule", "ConfigMap"]) expect(kinds).toContain(kind);
});

test("the template renders, with the label by which the chart's PodMonitor finds its pods", () => {
  const head =
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: orders }\nspec:\n  selector: {}\n  template:\n";
  // The last test of the chart: it replaces the example's Deployment.
  writeFileSync(join(charts.path("example-app"), "templates/deployment.yaml"), `${head}${block("template")}`);
  const objects = charts.objects("example-app");
  expect(sidecarOf(podOf(objects)).image).toBe(`countersign:${version}`);
  const { matchLabels } = ofKind(objects, "PodMonitor").spec.selector;
  expect(podOf(objects).metadata.labels).toMatchObject(matchLabels);
});

it("check accepts the configuration for a pod without the chart", () => {
  expect(check(block("countersign"))).toMatchObject({ valid: true, warnings: [] });
});

it("includes no template but those that the example's chart includes, in the same way", () => {
  const example = readFileSync("helm/example-app/templates/deployment.yaml", "utf8");
  const includes = [...block("template").matchAll(/\{\{-? include .*?\}\}/g)].map(([text]) => text);
  expect(includes.length).toBeGreaterThan(3);
  for (const include of includes) expect(example).toContain(include);
});

it("names no file of the repository that is not there, and none that only a build makes", () => {
  const paths = [...page.matchAll(/\b(?:deploy|helm|docs|test|src|dist|scripts)\/[\w./-]*\w/g)].map(([path]) => path);
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !existsSync(path) || path.startsWith("dist/"))).toEqual([]);
});
