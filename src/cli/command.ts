import { InvalidArgumentError, Option } from "commander";
import { addressOfPage } from "../model/documents.ts";
import { authMethods } from "../model/environment.ts";

/** The program's name and the texts of its help. */
export const about = {
  name: "countersign",
  description: "Outbound, auth-injecting HTTP sidecar: plain JSON in, authorised or signed requests out.",
  notes: `"spec 5.2" is a section of\n${addressOfPage("service-interface.md", undefined)}`,
} as const;

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
 * Refuses options that would have no effect: each needs another option, which is absent.
 * @param given by their names; undefined: not on the command line
 */
export function refuseWithout(absent: string, given: Readonly<Record<string, unknown>>): void {
  const idle = Object.keys(given).find((name) => given[name] !== undefined);
  if (idle !== undefined) throw usageFailure(`--${idle} goes with --${absent}.`);
}

const optionOf = { Site: "--site", Auth: "--auth", Once: "--key" } as const;

/** A failure's text for the command line, where options take the place of headers. */
export function inOptions(text: string): string {
  return text.replace(/(in the header )?Countersign-(Site|Auth|Once)\b/g, (_, before, name: keyof typeof optionOf) => {
    return `${before === undefined ? "" : "with "}${optionOf[name]}`;
  });
}

/** The end of a command's help: a line that works where a configuration `countersign.yaml` is. */
export function exampleOf(line: string): readonly ["after", string] {
  return ["after", `\nFor example:\n  ${line}`];
}

/** `1 site`, `3 sites`. */
export function countOf(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}

/** The option of every command that makes a request in place of an application. */
export function authOption(use: string): Option {
  return new Option("--auth <method>", `method of ${use}, as in the header Countersign-Auth`).choices(authMethods);
}

export const defaultConfigFile = "countersign.yaml";

/** The option of every command that needs the configuration; in a pod the environment variable replaces it. */
export function configOption(): Option {
  return new Option("--config <file>", "configuration file (YAML)")
    .env("COUNTERSIGN_CONFIG")
    .default(defaultConfigFile, `./${defaultConfigFile}`)
    .argParser(readFileName);
}

function readFileName(text: string): string {
  if (text === "") throw new InvalidArgumentError("It is empty; name a file.");
  return text;
}
