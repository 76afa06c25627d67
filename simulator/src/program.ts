import type { Command } from "commander";
import { type Program, runProgram } from "countersign/cli/run-program";

const program: Program = {
  name: "countersign-simulator",
  description: "The payment service, simulated, and a demonstration of Countersign in front of it.",
  commands: {
    simulate: async () => (await import("./simulate.ts")).createCommand(),
    demo: async () => (await import("./demo.ts")).createCommand(),
  },
};

/** Every command, for the reference of the command line. */
export function createCommands(): Promise<Command[]> {
  return Promise.all(Object.values(program.commands).map((load) => load()));
}

/**
 * Runs one command line.
 * @param name what the user typed; `countersign simulate` and `countersign demo` call this too
 * @returns the exit code, as `runProgram` does
 */
export function run(args: readonly string[], name: string = program.name): Promise<number> {
  return runProgram({ ...program, name }, args);
}
