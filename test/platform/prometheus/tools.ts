import { spawnSync } from "node:child_process";
import { plainEnvironment } from "../../../testkit/run-program.ts";

/** Runs promtool; what it says is in `said`. */
export function promtool(
  args: readonly string[],
  input = "",
): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8", input, env: plainEnvironment() });
  return { status, said: stdout + stderr };
}

export const rulesFile = "helm/countersign/files/rules.yaml";
