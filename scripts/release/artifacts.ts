import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const sums = "SHA256SUMS";

/**
 * Makes what is published, but for the images: the npm package, its bill of materials, the chart, the Homebrew formula, and
 * the SHA-256 of each.
 * @param folder what an earlier run has made there goes away
 * @returns the files, relative to the folder
 * @throws Error where the folder has other files, or a program fails
 */
export function makeArtifacts(folder: string, version: string): string[] {
  if (existsSync(folder) && readdirSync(folder).length > 0 && !existsSync(join(folder, sums))) {
    throw new Error(`${folder} has other files than those of a release: name another folder`);
  }
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "chart"), { recursive: true });
  const packed = `countersign-${version}.tgz`;
  run("npm", "pack", "--silent", "--pack-destination", folder);
  run(process.execPath, "scripts/sbom.mjs", join(folder, `countersign-${version}.cdx.json`));
  run(locateHelm(), "package", "helm/countersign", "--destination", join(folder, "chart"));
  const template = readFileSync("deploy/homebrew/countersign.rb", "utf8");
  writeFileSync(join(folder, "countersign.rb"), fillFormula(template, version, digestOf(join(folder, packed))));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.\w+$/.test(name));
  const lines = files.sort().map((name) => `${digestOf(join(folder, name))}  ${name}\n`);
  writeFileSync(join(folder, sums), lines.join(""));
  return [...files, sums];
}

/** The Homebrew formula of a version, by the SHA-256 of its npm package in hexadecimal digits. */
export function fillFormula(template: string, version: string, sha256: string): string {
  const filled = template
    .replaceAll("@VERSION@", version)
    .replaceAll("@SHA256@", sha256)
    .replace(/^# Template: .*\n/m, "");
  if (/@[A-Z0-9]+@/.test(filled))
    throw new Error("deploy/homebrew/countersign.rb has a placeholder that nothing fills");
  return filled;
}

function digestOf(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

/** What scripts/kubernetes-tools.sh has built, or else what is on PATH. */
function locateHelm(): string {
  const built = resolve(".tools/bin/helm");
  return existsSync(built) ? built : "helm";
}

function run(command: string, ...args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${error?.message ?? `exit code ${status}`}`);
}
