import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Command } from "commander";
import { about, usageFailure } from "./command.ts";
import { type Program, runProgram } from "./run-program.ts";

/** Commands are loaded only when they are called, so that `serve` starts without the dependencies of other commands. */
const program: Program = {
  ...about,
  commands: {
    serve: async () => (await import("./serve.ts")).createCommand(),
    check: async () => (await import("./check.ts")).createCommand(),
    doctor: async () => (await import("./doctor.ts")).createCommand(),
    health: async () => (await import("./health.ts")).createCommand(),
    sign: async () => (await import("./sign.ts")).createCommand(),
    verify: async () => (await import("./sign.ts")).createVerifyCommand(),
    preview: async () => (await import("./preview.ts")).createCommand(),
    token: async () => (await import("./token.ts")).createCommand(),
    keygen: async () => (await import("./keygen.ts")).createCommand(),
    schema: async () => (await import("./check.ts")).createSchemaCommand(),
    order: async () => (await import("./order.ts")).createCommand(),
    completion: async () => (await import("./completion.ts")).createCommand(createCommands),
    simulate: async () => createStandIn("simulate", "Play the payment service, for trials and tests."),
    demo: async () => createStandIn("demo", "Show Countersign at work in front of a simulated service."),
  },
};

/** Every command, for the reference of the command line and for completion; the simulator's own ones, if it is here. */
export async function createCommands(): Promise<Command[]> {
  const simulator = locateSimulator();
  const own: readonly Command[] = simulator === undefined ? [] : await (await import(simulator)).createCommands();
  const all = Object.entries(program.commands).map(
    ([name, load]) => own.find((each) => each.name() === name) ?? load(),
  );
  return Promise.all(all);
}

/** @returns the exit code, as `runProgram` does */
export async function run(args: readonly string[]): Promise<number> {
  const command = args[0] === "help" ? args[1] : args[0];
  const isOfSimulator = command === "simulate" || command === "demo";
  const simulator = isOfSimulator ? locateSimulator() : undefined;
  if (simulator === undefined) return runProgram(program, args);
  const module = await import(simulator);
  return module.run(args, program.name);
}

const whereToGetIt = "the npm package countersign and the image countersign-simulator have it";

/** `simulate` and `demo` belong to the simulator, a separate program, which is in the npm package but not in the proxy's image. */
function createStandIn(name: string, description: string): Command {
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
