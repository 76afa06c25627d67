import { existsSync } from "node:fs";
import { Command } from "commander";
import { type CommandFile, usageFailure } from "./command.ts";

const whereToGetIt = "the image countersign-simulator and the npm package have it";

/** A command that plays with the simulator; the proxy's image (Dockerfile) is made without its code. */
export function orLeftOut(name: string, load: () => Promise<CommandFile>): () => Promise<CommandFile> {
  return async () => {
    if (existsSync(new URL("../simulator", import.meta.url))) return load();
    return { createCommand: () => createLeftOut(name) };
  };
}

function createLeftOut(name: string): Command {
  return new Command(name)
    .description(`Left out here: ${whereToGetIt}.`)
    .argument("[arguments...]")
    .allowUnknownOption()
    .action(() => {
      throw usageFailure(`countersign ${name} is left out here, as the simulator is: ${whereToGetIt}.`);
    });
}
