import { spawnSync } from "node:child_process";
import { isInstalled, plainEnvironment } from "../../../testkit/run-program.ts";

/** Debian's package `prometheus` brings both. */
export const hasPrometheus = isInstalled("promtool", "--version") && isInstalled("prometheus", "--version");

/** What a test is called that needs them. */
export function withPrometheus(name: string): string {
  return `${hasPrometheus ? "" : "NOT TRIED, prometheus is not installed: "}${name}`;
}

/** Runs promtool; what it says is in `said`. */
export function promtool(
  args: readonly string[],
  input = "",
): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8", input, env: plainEnvironment() });
  return { status, said: stdout + stderr };
}

export const rulesFile = "helm/countersign/files/rules.yaml";
