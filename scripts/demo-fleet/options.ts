import { parseOptions, readNumber } from "../command-line.ts";

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

const known = {
  once: { type: "boolean" },
  seconds: { type: "string" },
  "token-lifetime": { type: "string" },
  help: { type: "boolean" },
} as const;

/**
 * @returns undefined when help is wanted
 * @throws UsageError
 */
export function readOptions(args: readonly string[]): Options | undefined {
  const values = parseOptions(args, known, usage);
  if (values.help) return undefined;
  return {
    seconds: readNumber("--seconds", values.seconds ?? "0", 0, 3_600),
    tokenLifetimeSeconds: readNumber("--token-lifetime", values["token-lifetime"] ?? "20", 10, 60),
  };
}
