import { plainEnvironment, runSync } from "../../../testkit/run-program.ts";

/** Runs promtool; what it says is in `said`. */
export function promtool(args: readonly string[], input = "") {
  const { exitCode, stdout, stderr } = runSync("promtool", args, { input, env: plainEnvironment() });
  return { status: exitCode, said: stdout + stderr };
}

export const rulesFile = "helm/countersign/files/rules.yaml";
