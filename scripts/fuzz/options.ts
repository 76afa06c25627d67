import { parseOptions, readNumber } from "../command-line.ts";

export interface Options {
  readonly seconds: number;
  readonly seed: number;
  /** A finding's file, to be played once more instead of a run. */
  readonly replay: string | undefined;
}

export const usage = `npm run fuzz -- [options]

Sends raw requests that were made and mangled by chance to a real proxy process, with the simulator behind it, and judges
what comes back, what arrived upstream, and what the process says. Whatever breaks a promise is made smaller and kept in
test/fuzz/findings, which the tests replay from then on.

   --seconds N     how long, 1 to 86400; default 60
   --seed N        the chance of an earlier run; default: drawn, and printed
   --replay FILE   play a finding once more, and say what it breaks
   --help          print this

Exit code 0: no promise was broken. 1: one was. 2: the command line is wrong.`;

const known = {
  seconds: { type: "string" },
  seed: { type: "string" },
  replay: { type: "string" },
  help: { type: "boolean" },
} as const;

/**
 * @returns undefined when help is wanted
 * @throws UsageError
 */
export function readOptions(args: readonly string[], drawSeed: () => number): Options | undefined {
  const values = parseOptions(args, known, usage);
  if (values.help) return undefined;
  return {
    seconds: readNumber("--seconds", values.seconds ?? "60", 1, 86_400),
    seed: values.seed === undefined ? drawSeed() : readNumber("--seed", values.seed, 0, 2 ** 32 - 1),
    replay: values.replay,
  };
}
