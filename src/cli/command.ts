import type { Command } from "commander";

/** What one file in this folder exports: a command, made anew so that nothing is shared between runs. */
export interface CommandFile {
  readonly createCommand: () => Command;
}

/** 0: yes, or done. 1: no. 2: usage or configuration. 70: a defect (EX_SOFTWARE). */
export const exitCodes = { ok: 0, no: 1, usage: 2, defect: 70 } as const;

/** Ends a command with a message for a person on standard error. */
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
