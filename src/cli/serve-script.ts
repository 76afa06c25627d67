import { about } from "./command.ts";
import { runProgram } from "./run-program.ts";
import { createCommand } from "./serve.ts";

/** As serve-program.ts does, for the image's script: there all modules but the lazy ones have one scope. */
export function run(args: readonly string[]): Promise<number> {
  return runProgram({ ...about, commands: { serve: async () => createCommand() } }, args);
}
