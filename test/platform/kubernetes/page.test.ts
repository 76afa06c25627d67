/** docs/kubernetes.md: what it shows renders, and a cluster and Countersign accept it. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { version } from "../../../src/version.ts";
import { Charts } from "./charts.ts";
import { check } from "./fake-secrets.ts";
import { complaintsOfDefinitions, complaintsOfOpenApi, complaintsOfPodSecurity } from "./judges.ts";
import { type Manifest, parse, podTemplateOf, sidecarOf } from "./manifests.ts";
import { block, page } from "./page.ts";
import { withTools } from "./tools.ts";

const tools = withTools("helm", "pod-security", "custom-resources", "kubernetes-validate");
const charts = tools.isThere ? new Charts() : undefined;
afterAll(() => charts?.remove());

it.runIf(charts)(
  tools.named("the values render with the example's chart, and all that comes of them is accepted"),
  () => {
    if (charts === undefined) return;
    const values = join(charts.folder, "page-values.yaml");
    writeFileSync(values, block("values"));
    const objects = parse(charts.render("example-app", ["--values", values]));
    expect(complaintsOfOpenApi(objects, "1.29")).toEqual([]);
    expect(complaintsOfPodSecurity(objects)).toEqual([]);
    expect(complaintsOfDefinitions(objects)).toEqual([]);
    const kinds = objects.map(({ kind }) => kind);
    for (const kind of ["Deployment", "PodMonitor", "PrometheusRule", "ConfigMap"]) expect(kinds).toContain(kind);
  },
);

it.runIf(charts)(
  tools.named("the template renders, with the label by which the chart's PodMonitor finds its pods"),
  () => {
    if (charts === undefined) return;
    const head =
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: orders }\nspec:\n  selector: {}\n  template:\n";
    const [deployment, monitor] = withTemplate(charts, `${head}${block("template")}`);
    expect(sidecarOf(podTemplateOf(deployment)).image).toBe(`countersign:${version}`);
    const { matchLabels } = monitor.spec.selector;
    expect(podTemplateOf(deployment).metadata.labels).toMatchObject(matchLabels);
  },
);

/** The Deployment and the PodMonitor of the example's chart with another Deployment in it. */
function withTemplate(charts: Charts, text: string): [Manifest, Manifest] {
  const file = join(charts.path("example-app"), "templates/deployment.yaml");
  const own = readFileSync(file, "utf8");
  writeFileSync(file, text);
  try {
    const objects = parse(charts.render("example-app"));
    const [deployment, monitor] = ["Deployment", "PodMonitor"].map((wanted) =>
      objects.find(({ kind }) => kind === wanted),
    );
    return [deployment, monitor];
  } finally {
    writeFileSync(file, own);
  }
}

it("the configuration without a chart is accepted by check", () => {
  expect(check(block("countersign"))).toMatchObject({ valid: true, warnings: [] });
});

it("includes no template but those that the example's chart includes, in the same way", () => {
  const example = readFileSync("helm/example-app/templates/deployment.yaml", "utf8");
  const includes = [...block("template").matchAll(/\{\{-? include .*?\}\}/g)].map(([text]) => text);
  expect(includes.length).toBeGreaterThan(3);
  for (const include of includes) expect(example).toContain(include);
});

it("links to what is there", () => {
  const paths = [...page.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = ""]) => join("docs", path));
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
});

it("names no file of the repository that is not there, and none that only a build makes", () => {
  const paths = [...page.matchAll(/\b(?:deploy|helm|docs|test|src|dist|scripts)\/[\w./-]*\w/g)].map(([path]) => path);
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !existsSync(path) || path.startsWith("dist/"))).toEqual([]);
});
