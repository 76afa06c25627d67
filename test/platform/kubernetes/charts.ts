import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { type Ran, run, succeed } from "./tools.ts";

/** A copy of the charts, with the example's dependency in place: helm writes into the folder. */
export class Charts {
  readonly folder = mkdtempSync(join(tmpdir(), "countersign-charts-"));

  /** @param isThere whether Helm is, to build it with */
  constructor(isThere = true) {
    cpSync("helm", this.folder, { recursive: true });
    if (isThere) this.build();
  }

  /** Takes the chart into the example's dependencies, as `helm dependency build` does for a user. */
  build(): void {
    succeed("helm", ["dependency", "build", this.path("example-app")]);
  }

  path(chart: string): string {
    return join(this.folder, chart);
  }

  /** Renders, for a release `demo` in the namespace `shop`. */
  render(chart: string, args: readonly string[] = []): string {
    return succeed("helm", this.#template(chart, args));
  }

  /** The sentence that rendering fails with. */
  refusal(chart: string, args: readonly string[] = []): Ran {
    return run("helm", this.#template(chart, args));
  }

  #template(chart: string, args: readonly string[]): string[] {
    return ["template", "demo", this.path(chart), "--namespace", "shop", "--kube-version", "1.36", ...args];
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** For the tests of one file. */
export function openCharts(isThere: boolean): Charts {
  const charts = new Charts(isThere);
  afterAll(() => charts.remove());
  return charts;
}
