import { type Command, InvalidArgumentError, Option } from "commander";
import type { Loaded } from "../config/load.ts";

/** What the file of a command exports. Each call makes a new command, so that runs share nothing. */
export interface CommandFile {
  readonly createCommand: () => Command;
}

/** 0: yes, or done. 1: no. 2: usage or configuration. 70: a defect (EX_SOFTWARE). */
export const exitCodes = { ok: 0, no: 1, usage: 2, defect: 70 } as const;

/** Ends the command with a message on standard error. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

export function usageFailure(message: string): CommandFailure {
  return new CommandFailure(message, exitCodes.usage);
}

/** `1 site`, `3 sites`. */
export function countOf(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}

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
  const { loadConfig } = await import("../config/load.ts");
  const { readAtOnce } = await import("../config/files/file-system.ts");
  const loaded = await loadConfig(file, { readFile: readAtOnce });
  if (loaded.kind === "loaded") return loaded;
  const { formatProblems } = await import("../config/diagnostics.ts");
  const { problems } = loaded;
  throw usageFailure(
    `${formatProblems(file, problems)}\n\n${countOf(problems.length, "problem")}; nothing was started.`,
  );
}
