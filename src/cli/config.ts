import { InvalidArgumentError, Option } from "commander";
import type { Loaded } from "../config/load.ts";
import { CommandFailure, exitCodes } from "./command.ts";

/** The option of every command that needs the configuration; in a pod the variable stands for it. */
export function configOption(): Option {
  return new Option("--config <file>", "configuration file (YAML)")
    .env("COUNTERSIGN_CONFIG")
    .argParser(readFileName)
    .makeOptionMandatory();
}

function readFileName(text: string): string {
  if (text === "") throw new InvalidArgumentError("It is empty; name a file.");
  return text;
}

/** The configuration, or the end of the command with every problem that it has. */
export async function loadOrRefuse(file: string): Promise<Extract<Loaded, { kind: "loaded" }>> {
  // `health` needs the option alone, and starts anew for each probe.
  const { loadConfig, readAtOnce } = await import("../config/load.ts");
  const loaded = await loadConfig(file, { readFile: readAtOnce });
  if (loaded.kind === "loaded") return loaded;
  const { formatProblems } = await import("../config/diagnostics.ts");
  const { problems } = loaded;
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  throw new CommandFailure(`${formatProblems(file, problems)}\n\n${count}; nothing was started.`, exitCodes.usage);
}
