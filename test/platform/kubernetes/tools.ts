import { existsSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import { it, type TestAPI } from "vitest";
import { isCertain } from "../../../testkit/left-out.ts";
import { type Ended, runSync } from "../../../testkit/run-program.ts";

// The tools that scripts/kubernetes-tools.sh has made, or else those on PATH.

const folder = resolve(".tools");
const path = [`${folder}/bin`, process.env["PATH"]].join(delimiter);
/** Of programs that tests start: our tools are on its PATH. */
export const environment = {
  ...process.env,
  PATH: path,
  PYTHONPATH: `${folder}/python`,
  HELM_CACHE_HOME: `${folder}/helm`,
};

/** Commands that show whether a tool is installed and works. */
const trials = {
  helm: ["helm", "version"],
  kubectl: ["kubectl", "version", "--client"],
  "kube-apiserver": ["sh", "-c", "kube-apiserver --version && etcd --version"],
  "pod-security": ["pod-security"],
  "custom-resources": ["custom-resources", `${folder}/crds`],
  actionlint: ["actionlint", "-version"],
  prometheus: ["sh", "-c", "prometheus --version && promtool --version"],
  "kubernetes-validate": ["python3", "-m", "kubernetes_validate", "--version"],
} as const;

export type Tool = keyof typeof trials;

/** Runs a program to its end, with our tools on its PATH. */
export function run(command: string, args: readonly string[], input = ""): Ended {
  return runSync(command, args, { env: environment, input });
}

/** Runs a program that must succeed, and returns its output. */
export function succeed(command: string, args: readonly string[], input = ""): string {
  const { exitCode, stdout, stderr } = run(command, args, input);
  if (exitCode !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${exitCode}:\n${stdout}${stderr}`);
  return stdout;
}

export const definitions = `${folder}/crds`;

/** `it` for tests that need these tools: if a tool is missing the tests are left out, and their names say so. */
export function withTools(...wanted: readonly Tool[]): TestAPI {
  const missing = wanted.filter((tool) => !isThere(tool));
  const note = missing.length === 0 ? "" : `NOT TRIED, ${missing.join(" and ")} is not installed: `;
  const run = it.runIf(note === "");
  const test = (name: string, ...rest: [never]) => run(note + name, ...rest);
  const each =
    (rows: []) =>
    (name: string, ...rest: [never]) =>
      run.each(rows)(note + name, ...rest);
  return Object.assign(test, { each }) as unknown as TestAPI;
}

const found = new Map<Tool, boolean>();

export function isThere(tool: Tool): boolean {
  const known = found.get(tool);
  if (known !== undefined) return known;
  const [command, ...args] = trials[tool];
  const runs = isCertain(tool) || run(command, args).exitCode === 0;
  const works = runs && (tool !== "custom-resources" || existsSync(definitions));
  found.set(tool, works);
  return works;
}
