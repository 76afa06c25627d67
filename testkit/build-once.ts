import { execFileSync } from "node:child_process";
import type { TestProject } from "vitest/node";

const built = "COUNTERSIGN_TEST_BUILT";

/** Builds the command from the present sources, for the tests that start it. The unit tests start no command. */
export default function setup({ vitest: { projects } }: TestProject): void {
  // Vitest calls this once for each of its projects, and once for all of them.
  if (projects.every(({ name }) => name === "unit") || process.env[built] !== undefined) return;
  execFileSync(process.execPath, ["scripts/build.mjs", "--if-stale"], { stdio: "inherit" });
  process.env[built] = "yes";
}
