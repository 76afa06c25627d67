import { cpSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "./manifests.ts";
import { run, succeed, withTools } from "./tools.ts";

// The chart is complete in its own folder: it can be copied out of the repository, packaged and vendored.

const chart = "helm/countersign";
const everything = ["--namespace", "shop", "--values", `${chart}/ci/gateway-values.yaml`];
const { isThere, named } = withTools("helm");

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-travels-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

it("has no symbolic links", () => {
  const entries = readdirSync(chart, { recursive: true, encoding: "utf8" });
  expect(entries).toContain("files/rules.yaml");
  expect(entries.filter((entry) => lstatSync(join(chart, entry)).isSymbolicLink())).toEqual([]);
});

it("has the alerts and dashboards of deploy/; `npm run chart-files` copies them", () => {
  const files = `${chart}/files`;
  const dashboards = readdirSync("deploy/grafana/dashboards");
  expect(readdirSync(files).sort()).toEqual(["dashboards", "rules.yaml"]);
  expect(readdirSync(`${files}/dashboards`)).toEqual(dashboards);
  const originals = { "rules.yaml": "deploy/prometheus/rules.yaml" } as Record<string, string>;
  for (const name of dashboards) originals[`dashboards/${name}`] = `deploy/grafana/dashboards/${name}`;
  for (const [copy, original] of Object.entries(originals)) {
    expect(readFileSync(`${files}/${copy}`, "utf8"), copy).toBe(readFileSync(original, "utf8"));
  }
});

it.runIf(isThere)(named("renders the same from a plain copy and from a package"), () => {
  const folder = emptyFolder();
  // As `cp -R` copies: a symbolic link stays one, and leads nowhere.
  cpSync(chart, join(folder, "copy"), { recursive: true, verbatimSymlinks: true });
  succeed("helm", ["package", join(folder, "copy"), "--destination", folder]);
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const [copied, packaged] = ["copy", `countersign-${version}.tgz`].map((name) => {
    return run("helm", ["template", "demo", join(folder, name), ...everything]);
  });
  expect(copied).toMatchObject({ exitCode: 0, stderr: "" });
  expect(packaged).toEqual(copied);
  const kinds = parse(copied?.stdout ?? "").map(({ kind }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(["PrometheusRule", "ConfigMap", "Deployment"]));
});
