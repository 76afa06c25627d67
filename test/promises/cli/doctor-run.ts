import { expect } from "vitest";
import { type Check, type Run, runMs } from "../../../src/cli/doctor/check.ts";
import { formatCheck, runChecks } from "../../../src/cli/doctor.ts";
import { formatProblems } from "../../../src/config/diagnostics.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { aclUser } from "../../../testkit/acl.ts";
import { canaries, tokenKey } from "../../../testkit/config-folder.ts";
import { type Ended, plainEnvironment, runCommand } from "../../../testkit/run-program.ts";

/** What no run prints; the simulator's tokens are called token_1, token_2, …. */
const secrets = [...Object.values(canaries), "canary", aclUser.password, tokenKey, /token_\d/];

function expectNoSecret(text: string): void {
  for (const secret of secrets) expect(text).not.toMatch(secret);
}

/** One run of the built command. */
export async function runDoctor(args: readonly string[], env = plainEnvironment()): Promise<Ended> {
  const ended = await runCommand(["doctor", ...args], env);
  expectNoSecret(ended.stdout + ended.stderr);
  return ended;
}

export interface Diagnosis {
  readonly hasFailed: boolean;
  /** `verdict subject: detail`, and after a bar what to do, of each check on a topic, and of one environment where given. */
  of(topic: Check["topic"], environment?: string): readonly string[];
}

/** The same in this process, which takes a tenth of the time. */
export async function diagnose(file: string, { withToken = true } = {}): Promise<Diagnosis> {
  const loaded = await loadConfig(file);
  if (loaded.kind === "refused") throw new Error(formatProblems(file, loaded.problems));
  const deadlineMs = systemClock.nowMs() + runMs;
  const run: Run = { file, ...loaded, withToken, clock: systemClock, deadlineMs };
  const checks: Check[] = [];
  for await (const check of runChecks(run)) checks.push(check);
  for (const { verdict, fix } of checks) expect(fix !== undefined).toBe(verdict === "warn" || verdict === "fail");
  expectNoSecret(checks.map((check) => formatCheck(check, 0)).join("\n") + JSON.stringify(checks));
  return {
    hasFailed: checks.some(({ verdict }) => verdict === "fail"),
    of: (topic, wanted) =>
      checks
        .filter((check) => check.topic === topic && (wanted === undefined || check.environment === wanted))
        .map(({ verdict, subject, detail, fix }) => [`${verdict} ${subject}: ${detail}`, fix ?? []].flat().join(" | ")),
  };
}
