/**
 * What a run of the tests leaves out, and the command that runs it: the last line of `npm test`. Vitest's global set-up,
 * first of all, so that it is the last to end.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const announced = "COUNTERSIGN_TEST_LEFT_OUT_ANNOUNCED";

export default function setup(): (() => void) | undefined {
  // Vitest calls it for each of its projects.
  if (process.env[announced] !== undefined) return undefined;
  process.env[announced] = "yes";
  const parts: string[] = [];
  if (process.env["npm_lifecycle_event"] === "test") {
    parts.push(
      "clients, demo and pages, fleets under faults, soak and load (npm run test:all)",
      "charts, images and alerts (npm run test:platform)",
    );
  }
  if (redisIsMissing()) {
    parts.push("without redis-server, every file that needs one (apt-get install redis-server, or brew install redis)");
  }
  return () => {
    if (parts.length > 0) process.stdout.write(`Left out: ${parts.join("; ")}.\n`);
  };
}

/** In CI nothing is left out for lack of a program: its tests fail. */
export function redisIsMissing(): boolean {
  return process.env["CI"] === undefined && spawnSync("redis-server", ["--version"]).status !== 0;
}

/** The test files that start a Redis themselves or use the common one, directly or by what they import. */
export function redisTests(): string[] {
  const needing = new Map<string, boolean>([["testkit/redis.ts", true]]);
  const needsRedis = (file: string): boolean => {
    const known = needing.get(file);
    if (known !== undefined) return known;
    needing.set(file, false);
    const text = readFileSync(file, "utf8");
    const imports = [...text.matchAll(/from "(\.[^"]+\.ts)"/g)].map(([, path = ""]) => join(dirname(file), path));
    const needs =
      text.includes('inject("redis")') ||
      imports.some((path) => (path.startsWith("test/") || path.startsWith("testkit/")) && needsRedis(path));
    needing.set(file, needs);
    return needs;
  };
  const files = readdirSync("test", { recursive: true, encoding: "utf8" }).map((name) => join("test", name));
  return files.filter((file) => file.endsWith(".test.ts")).filter(needsRedis);
}
