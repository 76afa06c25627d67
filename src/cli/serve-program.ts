import { about } from "./command.ts";
import { runProgram } from "./run-program.ts";
import { createCommand } from "./serve.ts";

/**
 * `countersign serve` alone: its bundle shares no file with the other commands, since each file takes time to find and open.
 * @returns the exit code, as `runProgram` does
 */
export function run(args: readonly string[]): Promise<number> {
  return runProgram({ ...about, commands: { serve: async () => createCommand() } }, args);
}
