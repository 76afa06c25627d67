import type { Command } from "commander";
import { createAll, type Program, runProgram } from "countersign/cli/run-program";

const program: Program = {
  name: "countersign-simulator",
  description: "The payment service, simulated, and a demonstration of Countersign in front of it.",
  commands: {
    simulate: () => import("./simulate.ts"),
    demo: () => import("./demo.ts"),
  },
};

/** Every command, for the reference of the command line. */
export function createCommands(): Promise<Command[]> {
  return createAll(program);
}

/**
 * Runs one command line.
 * @param name what the user typed; `countersign simulate` and `countersign demo` lead here too
 * @returns the exit code, as `runProgram` does
 */
export function run(args: readonly string[], name: string = program.name): Promise<number> {
  return runProgram({ ...program, name }, args);
}
