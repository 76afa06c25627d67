/** scripts/release/images.sh with stand-ins for docker and cosign: which images are built, pushed and signed, in which order. */
import { readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, it } from "vitest";
import { version } from "../../../src/version.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { runSync } from "../../../testkit/run-program.ts";

const digest = `sha256:${"0".repeat(64)}`;
const standIns = {
  docker: `#!/bin/bash -eu
echo "docker $*" >>"$CALLS"
while [ "$1" != --metadata-file ]; do shift; done
echo '{ "containerimage.digest": "${digest}" }' >"$2"
`,
  cosign: `#!/bin/bash -eu
echo "cosign $*" >>"$CALLS"
`,
};

it("pushes both images for two platforms, with contents and provenance, and signs each by its digest", () => {
  const { exitCode, stdout, calls } = run("ghcr.io/someone", "--push");
  expect(exitCode).toBe(0);
  const names = ["ghcr.io/someone/countersign", "ghcr.io/someone/countersign-simulator"];
  expect(stdout).toBe(names.map((name) => `${name}@${digest}\n`).join(""));
  expect(calls).toHaveLength(4);
  for (const [index, name] of names.entries()) {
    const build = calls[2 * index] ?? "";
    expect(build).toMatch(/^docker buildx build --target (proxy|simulator) --platform linux\/amd64,linux\/arm64 /);
    for (const option of ["--sbom=true", "--provenance=mode=max", "--push", `--build-arg VERSION=${version}`]) {
      expect(build).toContain(` ${option} `);
    }
    const minor = version.split(".").slice(0, 2).join(".");
    expect(build.match(/--tag \S+/g)).toEqual([`--tag ${name}:${version}`, `--tag ${name}:${minor}`]);
    expect(calls[2 * index + 1]).toBe(`cosign sign --yes ${name}@${digest}`);
  }
});

it("pushes and signs nothing if it is not told to push", () => {
  const folder = emptyFolder();
  const { exitCode, calls } = run(folder);
  expect(exitCode).toBe(0);
  expect(calls).toHaveLength(2);
  for (const call of calls) {
    expect(call).toContain(` --output type=oci,dest=${folder}/countersign`);
    expect(call).not.toMatch(/--push|cosign/);
  }
});

it("prints no digest and signs nothing when a build fails", () => {
  const { exitCode, stdout, calls } = run("ghcr.io/someone", "--push", { docker: "#!/bin/sh\nexit 3\n" });
  expect({ exitCode, stdout, calls }).toEqual({ exitCode: 3, stdout: "", calls: [] });
});

function run(prefix: string, option?: string, others: Partial<typeof standIns> = {}) {
  const folder = emptyFolder();
  for (const [name, text] of Object.entries({ ...standIns, ...others })) {
    writeFileSync(join(folder, name), text, { mode: 0o755 });
  }
  const record = join(folder, "calls");
  writeFileSync(record, "");
  const args = [prefix, ...(option === undefined ? [] : [option])];
  const path = [folder, process.env["PATH"]].join(delimiter);
  const env = { ...process.env, PATH: path, CALLS: record };
  const { exitCode, stdout } = runSync("scripts/release/images.sh", args, { env });
  return { exitCode, stdout, calls: readFileSync(record, "utf8").split("\n").filter(Boolean) };
}
