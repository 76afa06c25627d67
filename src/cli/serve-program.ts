import { about } from "./command.ts";
import { runProgram } from "./run-program.ts";

/**
 * `countersign serve` alone: its bundle shares no file with the other commands, since finding and opening each file takes time.
 * @returns the exit code, as `runProgram` does
 */
export function run(args: readonly string[]): Promise<number> {
  const serve = async () => (await import("./serve.ts")).createCommand();
  return runProgram({ ...about, commands: { serve } }, args);
}
