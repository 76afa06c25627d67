/**
 * docs/kubernetes.md: its examples render, a cluster and Countersign accept them, and its commands, run from the first to the last,
 * work and make the objects that its configurations need.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { version } from "../../../src/version.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { openCharts } from "./charts.ts";
import { check, secretsOf } from "./fake-secrets.ts";
import { complaintsOf } from "./judges.ts";
import { type Manifest, nameOf, ofKind, parse, podOf, podTemplateOf, sidecarOf } from "./manifests.ts";
import { block, page, typePage } from "./page.ts";
import { succeed, withTools } from "./tools.ts";

const test = withTools("helm", "kubectl", "pod-security", "custom-resources", "kubernetes-validate");
const charts = openCharts();
const orders = readFileSync("test/platform/cluster/orders.yaml", "utf8");
let typed: ReturnType<typeof typePage>;
const sent = (name: string) => typed.objects.filter((object) => nameOf(object) === name);

it("check accepts the configuration for a pod without the chart", () => {
  expect(check(block("countersign"))).toMatchObject({ valid: true, warnings: [] });
});

it("includes only templates that the example's chart includes, in the same way", () => {
  const example = readFileSync("helm/example-app/templates/deployment.yaml", "utf8");
  const includes = [...block("template").matchAll(/\{\{-? include .*?\}\}/g)].map(([text]) => text);
  expect(includes.length).toBeGreaterThan(3);
  for (const include of includes) expect(example).toContain(include);
});

it("names only files that are in the repository, and none that only a build makes", () => {
  const paths = [...page.matchAll(/\b(?:deploy|helm|docs|test|src|dist|scripts)\/[\w./-]*\w/g)].map(([path]) => path);
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !existsSync(path) || path.startsWith("dist/"))).toEqual([]);
});

test("the values render with the example's chart, and a cluster accepts the result", () => {
  const values = join(charts.folder, "page-values.yaml");
  writeFileSync(values, block("values"));
  const objects = charts.objects("example-app", ["--values", values]);
  expect(complaintsOf(objects)).toEqual([]);
  const kinds = objects.map(({ kind }) => kind);
  for (const kind of ["Deployment", "CronJob", "ConfigMap"]) expect(kinds).toContain(kind);
});

test("the template renders, with the label by which the chart's PodMonitor finds its pods", () => {
  const head =
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: orders }\nspec:\n  selector: {}\n  template:\n";
  // This must be the last test of the chart, since it replaces the example's Deployment.
  writeFileSync(join(charts.path("example-app"), "templates/deployment.yaml"), `${head}${block("template")}`);
  const objects = charts.objects("example-app");
  expect(sidecarOf(podOf(objects)).image).toBe(`countersign:${version}`);
  const { matchLabels } = ofKind(objects, "PodMonitor").spec.selector;
  expect(podOf(objects).metadata.labels).toMatchObject(matchLabels);
});

test("the commands succeed, and leave no secret behind", () => {
  typed = typePage(page, { "countersign.yaml": block("countersign") }, parse(orders));
  expect({ exitCode: typed.exitCode, stderr: typed.stderr }).toMatchObject({ exitCode: 0 });
  expect(typed.left).toEqual(["countersign.yaml", "cronjob-patch.yaml", "deploy", "helm", "patch.yaml"]);
});

it("the label names the ConfigMap and the Secret that the commands make", () => {
  const { metadata, spec } = parse(block("label"))[0];
  expect(metadata.labels).toEqual({ "countersign.io/inject": "countersign" });
  expect(spec.containers[0].env).toEqual([{ name: "BASE_URL", value: "http://127.0.0.1:7411" }]);
});

test("the commands make the Secrets that both configurations name, with their files", () => {
  const { config, secrets } = parse(block("values"))[0].countersign;
  const folders = new Map<string, string>(secrets.map(({ folder, secretName }: Manifest) => [folder, secretName]));
  const wanted = [stringify(config), block("countersign")].flatMap((configuration) =>
    secretsOf(configuration).map(({ path }) => {
      return [folders.get(basename(dirname(path))) ?? "countersign", basename(path)] as const;
    }),
  );
  expect(new Set(wanted.map(([name]) => name))).toEqual(
    new Set(["countersign-blue", "countersign-redis", "countersign"]),
  );
  for (const [name, file] of wanted) {
    const [secret, ...more] = sent(`Secret/${name}`);
    expect(more).toEqual([]);
    expect(Object.keys(secret.data)).toContain(file);
  }
  const key = Buffer.from(sent("Secret/countersign-redis")[0].data["token-key"], "base64").toString();
  expect(key).toMatch(/^[0-9a-f]{64}\n$/);
  expect(sent("ConfigMap/countersign")[0].data).toEqual({ "countersign.yaml": block("countersign") });
});

test.each([
  { kind: "Deployment", name: "orders" },
  { kind: "CronJob", name: "settle" },
])("the commands add the sidecar from the reader's registry, and the variable: $kind", ({ kind, name }) => {
  const [patched, set, ...more] = sent(`${kind}/${name}`).map((object) => podTemplateOf(object).spec);
  expect(more).toEqual([]);
  expect(sidecarOf({ spec: patched }).image).toBe(`REGISTRY/countersign:${version}`);
  const [application] = set.containers;
  expect(application).toMatchObject({ name, env: [{ name: "BASE_URL", value: "http://127.0.0.1:7411" }] });
});

test("the commands create the Operator's objects and Grafana's dashboards", () => {
  const made = [
    ...sent("PodMonitor/monitoring-countersign"),
    ...sent("PrometheusRule/monitoring-countersign"),
    ...sent("ConfigMap/monitoring-countersign-dashboards"),
  ];
  expect(complaintsOf(made)).toEqual([]);
  const [monitor, rules, { data }] = made;
  for (const { metadata } of [monitor, rules]) expect(metadata.labels.release).toBe("kube-prometheus-stack");
  expect(rules.spec).toEqual(parse(readFileSync("helm/countersign/files/rules.yaml", "utf8"))[0]);
  const files = readdirSync("helm/countersign/files/dashboards");
  expect(Object.keys(data)).toEqual(files.map((file) => `countersign-${file}`));
});

test("the kustomization adds the sidecar too, with the variable, to workloads that it labels", () => {
  const folder = emptyFolder();
  cpSync("deploy/kustomize", join(folder, "deploy/kustomize"), { recursive: true });
  mkdirSync(join(folder, "orders"));
  writeFileSync(join(folder, "orders/orders.yaml"), orders.replaceAll(", labels: { countersign: sidecar }", ""));
  writeFileSync(join(folder, "orders/kustomization.yaml"), block("orders/kustomization"));
  writeFileSync(join(folder, "kustomization.yaml"), block("kustomization"));
  const built = parse(succeed("kubectl", ["kustomize", folder])).filter(podTemplateOf);
  expect(built).toHaveLength(5);
  const images = built.map((object) => [object.kind, sidecarOf(podTemplateOf(object))?.image]);
  const withSidecar = images.filter(([, image]) => image !== undefined);
  expect(withSidecar).toEqual([["Deployment", `REGISTRY/countersign:${version}`]]);
  const { spec } = podOf(built);
  const [application] = spec.containers;
  expect(application).toMatchObject({
    image: "REGISTRY/orders:1",
    env: [{ name: "BASE_URL", value: "http://127.0.0.1:7411" }],
  });
});
