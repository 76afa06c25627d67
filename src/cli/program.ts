import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Command } from "commander";
import { about, type CommandFile, usageFailure } from "./command.ts";
import { createAll, type Program, runProgram } from "./run-program.ts";

/** Commands are loaded only when they are called, so that `serve` starts without the others' dependencies. */
const program: Program = {
  ...about,
  commands: {
    serve: () => import("./serve.ts"),
    check: () => import("./check.ts"),
    doctor: () => import("./doctor.ts"),
    health: () => import("./health.ts"),
    sign: () => import("./sign.ts"),
    verify: async () => ({ createCommand: (await import("./sign.ts")).createVerifyCommand }),
    preview: () => import("./preview.ts"),
    token: () => import("./token.ts"),
    keygen: () => import("./keygen.ts"),
    schema: async () => ({ createCommand: (await import("./check.ts")).createSchemaCommand }),
    simulate: simulatorCommand("simulate", "Play the payment service, for trials and tests."),
    demo: simulatorCommand("demo", "Show Countersign at work in front of a simulated service."),
  },
};

/** Every command, for the reference of the command line. */
export function createCommands(): Promise<Command[]> {
  return createAll(program);
}

/** @returns the exit code, as `runProgram` does */
export async function run(args: readonly string[]): Promise<number> {
  const isOfSimulator = args[0] === "simulate" || args[0] === "demo";
  const simulator = isOfSimulator ? locateSimulator() : undefined;
  if (simulator === undefined) return runProgram(program, args);
  const module = await import(simulator);
  return module.run(args, program.name);
}

const whereToGetIt = "the npm package countersign and the image countersign-simulator have it";

/** `simulate` and `demo` belong to the simulator, a program of its own, which the npm package carries and the proxy's image does not. */
function simulatorCommand(name: string, description: string): () => Promise<CommandFile> {
  return async () => ({ createCommand: () => createCommand(name, description) });
}

function createCommand(name: string, description: string): Command {
  return new Command(name)
    .description(locateSimulator() === undefined ? `Left out here: ${whereToGetIt}.` : description)
    .argument("[arguments...]")
    .allowUnknownOption()
    .action(() => {
      throw usageFailure(`countersign ${name} is left out here: ${whereToGetIt}.`);
    });
}

/** The URL of the simulator's main module, which package.json names. */
function locateSimulator(): string | undefined {
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve("#simulator")).href;
  } catch {
    return undefined;
  }
}
