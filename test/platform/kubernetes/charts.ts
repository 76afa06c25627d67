import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { type Manifest, parse } from "./manifests.ts";
import { isThere, run, succeed } from "./tools.ts";

const file = (path: string) => ["--values", path];

/** Files of values for a chart. */
export const values = {
  gateway: file("helm/countersign/ci/gateway-values.yaml"),
  sidecar: file("helm/countersign/ci/sidecar-values.yaml"),
  plain: file("test/platform/kubernetes/values/gateway-plain.yaml"),
  everything: file("test/platform/kubernetes/values/gateway-everything.yaml"),
  twoEnvironments: file("test/platform/kubernetes/values/sidecar-two-environments.yaml"),
} as const;

const folder = "examples/kubernetes";

/** The examples of docs/kubernetes-secrets.md: values of the chart, and files of objects, one for each kind of operator. */
export const examples = readdirSync(folder).map((name) => {
  const files = readdirSync(`${folder}/${name}`).map((each) => `${folder}/${name}/${each}`);
  const variants = files.filter((each) => !each.endsWith("/values.yaml"));
  return {
    name,
    files,
    args: [...file(`${folder}/${name}/values.yaml`), "--namespace", "payments"],
    variants: variants.map((each) => parse(readFileSync(each, "utf8"))),
  };
});

/** Single values, each as `key=value`. */
export const set = (...assignments: readonly string[]) => assignments.flatMap((each) => ["--set", each]);

export const setJson = (key: string, value: unknown) => ["--set-json", `${key}=${JSON.stringify(value)}`];

/** A copy of the charts for the tests of one file, with the example's dependency in place: helm writes into the folder. */
export function openCharts() {
  const folder = mkdtempSync(join(tmpdir(), "countersign-charts-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  cpSync("helm", folder, { recursive: true });
  const path = (chart: string) => join(folder, chart);
  // As a user adds a chart to the dependencies of another chart.
  if (isThere("helm")) succeed("helm", ["dependency", "build", path("example-app")]);
  /** The arguments of `helm template` for a release `demo` in the namespace `shop`. */
  const template = (chart: string, args: readonly string[]) => {
    return ["template", "demo", path(chart), "--namespace", "shop", "--kube-version", "1.36", ...args];
  };
  const render = (chart: string, args: readonly string[] = []): string => succeed("helm", template(chart, args));
  return {
    folder,
    path,
    render,
    objects: (chart: string, args: readonly string[] = []): Manifest[] => parse(render(chart, args)),
    /** The result of a rendering that fails, with its sentence. */
    refusal: (chart: string, args: readonly string[] = []) => run("helm", template(chart, args)),
  };
}
