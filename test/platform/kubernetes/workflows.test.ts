/** .github/workflows: checked by actionlint if installed, and compared with CONTRIBUTING.md. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Manifest, parse } from "./manifests.ts";
import { run, withTools } from "./tools.ts";

const folder = ".github/workflows";
const files = readdirSync(folder).map((name) => join(folder, name));
withTools("actionlint")("actionlint finds nothing", () => {
  expect(run("actionlint", files)).toEqual({ exitCode: 0, stdout: "", stderr: "" });
});

describe.each(files)("%s", (file) => {
  const text = readFileSync(file, "utf8");
  const workflow = parse(text)[0];
  const jobs = Object.entries<Manifest>(workflow.jobs);

  it("may only read, unless a job asks for more", () => {
    expect(workflow.permissions).toEqual({ contents: "read" });
    expect(workflow.concurrency).toBeDefined();
    const writing = jobs.filter(([, { permissions = {} }]) => Object.values(permissions).includes("write"));
    for (const [, { environment, steps = [] }] of writing) {
      expect(environment).toBe("release");
      for (const { run } of steps) expect(run ?? "").not.toMatch(/npm (ci|install)(?! --ignore-scripts)/);
    }
  });

  it("stops if the first part of a pipe fails, which the default shell does not", () => {
    const commands = jobs.flatMap(([, { steps = [] }]) => steps.map(({ run = "" }) => run));
    if (commands.some((command) => command.includes(" | "))) expect(workflow.defaults?.run.shell).toBe("bash");
  });

  it("names each action by its commit, with the version beside it", () => {
    const used = [...text.matchAll(/uses: (.*)$/gm)].map(([, action]) => action ?? "");
    expect(used.length).toBeGreaterThan(0);
    const loose = used.filter((action) => !/^([\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\.\/\.github\/\S+)$/.test(action));
    expect(loose).toEqual([]);
  });

  it("bounds the time of each job, and keeps no credential in the checkout", () => {
    for (const [name, { uses, "timeout-minutes": minutes, steps = [] }] of jobs) {
      if (uses === undefined) expect({ name, minutes }).toEqual({ name, minutes: expect.any(Number) });
      for (const step of steps.filter(({ uses = "" }) => uses.startsWith("actions/checkout@"))) {
        expect(step).toMatchObject({ with: { "persist-credentials": false } });
      }
    }
  });
});

it("a change and a release must both pass .ci/run", () => {
  const [{ jobs: ci }] = parse(readFileSync(join(folder, "ci.yaml"), "utf8"));
  const steps = Object.values<Manifest>(ci).flatMap((job) => job.steps ?? []);
  expect(steps.map(({ run }) => run)).toContain(".ci/run");
  const [{ jobs }] = parse(readFileSync(join(folder, "release.yaml"), "utf8"));
  expect(jobs["ci"]).toMatchObject({ uses: "./.github/workflows/ci.yaml", needs: "check" });
  expect(jobs["images"]).toMatchObject({ needs: "ci" });
  expect(jobs["package"]).toMatchObject({ needs: "images" });
});

it.each([
  { version: "v1.2.3", npm: "latest", forge: "--latest" },
  { version: "v1.2.3-rc.1", npm: "next", forge: "--prerelease" },
])("$version is published as $npm", ({ version, npm, forge }) => {
  const [{ jobs }] = parse(readFileSync(join(folder, "release.yaml"), "utf8"));
  const commands = (jobs["package"]?.steps ?? []).flatMap(({ run = "" }) =>
    /npm publish|gh release/.test(run) ? [run] : [],
  );
  const script = `npm() { echo "npm $*"; }; gh() { echo "gh $*"; }; GITHUB_REF_NAME=${version}\n${commands.join("\n")}`;
  const { exitCode, stdout } = run("bash", ["-eo", "pipefail", "-c", script]);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(new RegExp(`^npm publish .* --tag ${npm}\\ngh release create ${version} .* ${forge} .*\\n$`));
});
