/**
 * The tests that a run leaves out, and how to get what they need: the last line of `npm test`. Vitest's global set-up, listed
 * first, so that its teardown runs last.
 */
import { spawnSync } from "node:child_process";

/** Programs that tests use beyond Node, npm, git and a base system, each with arguments for which it exits with code 0. */
const programs = {
  "redis-server": ["--version"],
  curl: ["--version"],
  openssl: ["version"],
  python3: ["-c", "import pty"],
  prometheus: ["--version"],
  chromium: ["--version"],
  "systemd-analyze": ["--version"],
} as const satisfies Record<string, readonly string[]>;

export type TestedProgram = keyof typeof programs;

/** In CI no test is left out for lack of one of these programs: the test fails instead. */
export function isCertain(program: string): boolean {
  return process.env["CI"] !== undefined && program in programs;
}

/** Whether tests that use a program are left out. */
export function isLeftOut(program: TestedProgram): boolean {
  return !isCertain(program) && spawnSync(program, programs[program], { stdio: "ignore" }).status !== 0;
}

const announced = "COUNTERSIGN_TEST_LEFT_OUT_ANNOUNCED";

export default function setup(): (() => void) | undefined {
  // Vitest calls it for each of its projects.
  if (process.env[announced] !== undefined) return undefined;
  process.env[announced] = "yes";
  const parts: string[] = [];
  if (process.env["npm_lifecycle_event"] === "test") {
    parts.push(
      "clients, demo, fleets under faults, soak and load (npm run test:all)",
      "charts, images and alerts (npm run test:platform), and the programs of others (npm run test:real)",
    );
  }
  const missing = (Object.keys(programs) as TestedProgram[]).filter(isLeftOut);
  if (missing.length > 0) parts.push(`what needs ${missing.join(", ")} (install them)`);
  return () => {
    if (parts.length > 0) process.stdout.write(`Left out: ${parts.join("; ")}.\n`);
  };
}
