import { about } from "./command.ts";
import { runProgram } from "./run-program.ts";
import type { Signals } from "./signals.ts";

/**
 * `countersign serve` alone: its bundle shares no file with the other commands, since finding and opening each file takes time.
 * @returns the exit code, as `runProgram` does
 */
export function run(args: readonly string[], signals: Signals): Promise<number> {
  const serve = async () => (await import("./serve.ts")).createCommand(signals);
  return runProgram({ ...about, commands: { serve } }, args);
}
