import { parseArgs } from "node:util";
import { Refusal } from "./refusal.ts";

export interface Options {
  /** How long the load of chapter 3 goes on at least. */
  readonly seconds: number;
  readonly tokenLifetimeSeconds: number;
}

export const usage = `npm run demo:fleet -- [options]

   --once                 tell the story once and end; this is the default
   --seconds N            go on with the load of chapter 3 for at least N seconds (0 to 3600)
   --token-lifetime N     tokens live N seconds (10 to 60; default 20); the story takes about 4 lives
   --help                 print this

Exit code 0: every promise was kept. 1: one was not, or there was no end. 2: the command line is wrong.`;

/**
 * @returns undefined when help is wanted
 * @throws Refusal
 */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parse(args);
  if (values.help) return undefined;
  return {
    seconds: readNumber("--seconds", values.seconds ?? "0", 0, 3_600),
    tokenLifetimeSeconds: readNumber("--token-lifetime", values["token-lifetime"] ?? "20", 10, 60),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        once: { type: "boolean" },
        seconds: { type: "string" },
        "token-lifetime": { type: "string" },
        help: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new Refusal(`${(error as Error).message.split(". ")[0]}.\n\n${usage}`);
  }
}

function readNumber(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d{1,4}$/.test(text) && value >= least && value <= most) return value;
  throw new Refusal(`${name} wants a whole number from ${least} to ${most}.`);
}
