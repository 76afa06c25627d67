/** docs/kubernetes.md: what it shows renders, and a cluster and Countersign accept it. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { Charts } from "./charts.ts";
import { check } from "./fake-secrets.ts";
import { complaintsOfDefinitions, complaintsOfOpenApi, complaintsOfPodSecurity } from "./judges.ts";
import { parse } from "./manifests.ts";
import { withTools } from "./tools.ts";

const page = readFileSync("docs/kubernetes.md", "utf8");
const tools = withTools("helm", "pod-security", "custom-resources", "kubernetes-validate");
const charts = tools.isThere ? new Charts() : undefined;
afterAll(() => charts?.remove());

/** A block of the page by the word behind its language. */
function block(word: string): string {
  const [, text] = new RegExp(`^\`\`\`yaml ${word}\n(.*?)^\`\`\``, "ms").exec(page) ?? [];
  if (text === undefined) throw new Error(`the page has no block ${word}`);
  return text;
}

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
