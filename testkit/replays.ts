/**
 * Counts the rounds that a test plays again because the machine was disturbed. Above one in ten the run fails: rounds that are mostly
 * disturbed prove nothing. Vitest's global set-up.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const fileVariable = "COUNTERSIGN_TEST_ROUNDS";

export default function setup(): (() => void) | undefined {
  // Vitest calls it for each of its projects.
  if (process.env[fileVariable] !== undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "countersign-rounds-"));
  const file = join(folder, "rounds");
  writeFileSync(file, "");
  process.env[fileVariable] = file;
  return () => {
    const verdict = judgeRounds(readFileSync(file, "utf8"));
    rmSync(folder, { recursive: true, force: true });
    if (verdict === undefined) return;
    process.exitCode = 1;
    throw new Error(verdict);
  };
}

/** Notes that a round begins. */
export function countRound(isReplay: boolean): void {
  const file = process.env[fileVariable];
  if (file !== undefined) appendFileSync(file, isReplay ? "r" : ".");
}

/**
 * The fault of a run's rounds; undefined if there is none. One replay is always allowed, even if there are few rounds.
 * @param rounds a character for each round: `r` for a replay
 */
export function judgeRounds(rounds: string): string | undefined {
  const replays = rounds.split("r").length - 1;
  if (replays <= Math.max(1, rounds.length / 10)) return undefined;
  return `${replays} of ${rounds.length} rounds were replays on a disturbed machine; one in ten is allowed.`;
}
