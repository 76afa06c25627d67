import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Command } from "commander";
import { type CommandFile, usageFailure } from "./command.ts";
import { createAll, type Program, runProgram } from "./run-program.ts";

/** Commands are loaded only when they are called, so that `serve` starts without the others' dependencies. */
const program: Program = {
  name: "countersign",
  description: "Outbound, auth-injecting HTTP sidecar: plain JSON in, signed or authorised requests out.",
  commands: {
    serve: () => import("./serve.ts"),
    check: () => import("./check.ts"),
    doctor: () => import("./doctor.ts"),
    health: () => import("./health.ts"),
    sign: () => import("./sign.ts"),
    verify: () => import("./verify.ts"),
    preview: () => import("./preview.ts"),
    token: () => import("./token.ts"),
    keygen: () => import("./keygen.ts"),
    schema: () => import("./schema.ts"),
    inject: () => import("./inject.ts"),
    simulate: simulatorCommand("simulate"),
    demo: simulatorCommand("demo"),
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

const whereToGetIt = "the image and the npm package countersign-simulator have it";

/** `simulate` and `demo` belong to the package countersign-simulator, which runs them where it is installed beside this one. */
export function simulatorCommand(name: string): () => Promise<CommandFile> {
  return async () => ({ createCommand: () => createCommand(name) });
}

function createCommand(name: string): Command {
  return new Command(name)
    .description(
      locateSimulator() === undefined ? `Left out here: ${whereToGetIt}.` : `As countersign-simulator ${name}.`,
    )
    .argument("[arguments...]")
    .allowUnknownOption()
    .action(() => {
      throw usageFailure(`countersign ${name} is left out here: ${whereToGetIt}.`);
    });
}

/** The URL of the package's main module. */
function locateSimulator(): string | undefined {
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve("countersign-simulator")).href;
  } catch {
    return undefined;
  }
}
