import { spawnSync } from "node:child_process";
import { plainEnvironment } from "../../../testkit/run-program.ts";

/** `countersign inject`, the built one, with a manifest on standard input. */
export function run(args: readonly string[], input = "") {
  const env = plainEnvironment();
  const ran = spawnSync(process.execPath, ["dist/main.js", "inject", ...args], { env, input, encoding: "utf8" });
  return { exitCode: ran.status, stdout: ran.stdout, stderr: ran.stderr };
}

/** Options for a classic sidecar. Countersign takes 25 + 30 + 2 + 5 s to end by that configuration. */
export const classic = ["--classic", "--config", "test/promises/cli/drains.yaml"] as const;

/** A Deployment whose pod has what is given. */
export const deployment = (podSpec: string) => `apiVersion: apps/v1
kind: Deployment
metadata: { name: orders }
spec:
  template:
    spec:
      ${podSpec.replaceAll("\n", "\n      ")}
`;
export const application = "containers:\n  - name: orders\n    image: orders:1\n";
