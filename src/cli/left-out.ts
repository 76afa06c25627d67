import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Command } from "commander";
import { type CommandFile, usageFailure } from "./command.ts";

const whereToGetIt = "the image and the npm package countersign-simulator have it";

/** `simulate` and `demo` belong to the package countersign-simulator, which runs them where it is installed beside this one. */
export function simulatorCommand(name: string): () => Promise<CommandFile> {
  return async () => ({ createCommand: () => createCommand(name, locateSimulator()) });
}

function createCommand(name: string, simulator: string | undefined): Command {
  return new Command(name)
    .description(simulator === undefined ? `Left out here: ${whereToGetIt}.` : `As countersign-simulator ${name}.`)
    .argument("[arguments...]")
    .allowUnknownOption()
    .helpOption(false)
    .action(async (args: readonly string[]) => {
      if (simulator === undefined) throw usageFailure(`countersign ${name} is left out here: ${whereToGetIt}.`);
      const { run } = await import(simulator);
      process.exitCode = await run([name, ...args], "countersign");
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
