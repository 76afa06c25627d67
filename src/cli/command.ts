import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { errorCodeOf } from "../model/defect.ts";

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

/**
 * Reads a file that the command line names.
 * @param end of the sentence that says it cannot be read
 * @throws CommandFailure
 */
export function readOrRefuse(path: string, end: string, name = path): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => {
    throw usageFailure(`${name} cannot be read (${errorCodeOf(error) ?? "UNKNOWN"})${end}`);
  });
}
