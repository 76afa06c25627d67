import { cpSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { parse } from "./manifests.ts";
import { run, succeed, withTools } from "./tools.ts";

// The chart is complete in its own folder: it can be copied out of the repository, packaged and vendored.

const chart = "helm/countersign";
const everything = ["--namespace", "shop", "--values", `${chart}/ci/gateway-values.yaml`];
const test = withTools("helm");

it("has no symbolic links", () => {
  const entries = readdirSync(chart, { recursive: true, encoding: "utf8" });
  expect(entries).toContain("files/rules.yaml");
  expect(entries.filter((entry) => lstatSync(join(chart, entry)).isSymbolicLink())).toEqual([]);
});

test("renders the same from a plain copy and from a package", () => {
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
