import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { type Manifest, parse } from "./manifests.ts";
import { isThere, type Ran, run, succeed } from "./tools.ts";

/** A copy of the charts for the tests of one file, with the example's dependency in place: helm writes into the folder. */
export function openCharts() {
  const folder = mkdtempSync(join(tmpdir(), "countersign-charts-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  cpSync("helm", folder, { recursive: true });
  const path = (chart: string) => join(folder, chart);
  // As a user takes a chart into the dependencies of another one.
  if (isThere("helm")) succeed("helm", ["dependency", "build", path("example-app")]);
  /** For a release `demo` in the namespace `shop`. */
  const template = (chart: string, args: readonly string[]) => {
    return ["template", "demo", path(chart), "--namespace", "shop", "--kube-version", "1.36", ...args];
  };
  const render = (chart: string, args: readonly string[] = []): string => succeed("helm", template(chart, args));
  return {
    folder,
    path,
    render,
    objects: (chart: string, args: readonly string[] = []): Manifest[] => parse(render(chart, args)),
    /** The sentence that rendering fails with. */
    refusal: (chart: string, args: readonly string[] = []): Ran => run("helm", template(chart, args)),
  };
}
