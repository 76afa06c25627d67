import { execFileSync } from "node:child_process";
import type { TestProject } from "vitest/node";

const built = "COUNTERSIGN_TEST_BUILT";

/** Tests that start the real command need it built, from the sources as they are. The unit tests start nothing. */
export default function setup({ vitest: { projects } }: TestProject): void {
  // Vitest calls it for each of its projects, and once for all.
  if (projects.every(({ name }) => name === "unit") || process.env[built] !== undefined) return;
  execFileSync(process.execPath, ["scripts/build.mjs", "--if-stale"], { stdio: "inherit" });
  process.env[built] = "yes";
}
