import { readOptions as read, seed, text, wholeNumber } from "../command-line.ts";

export const usage = `npm run fuzz -- [options]

Sends raw requests that were made and mangled by chance to a real proxy process, with the simulator behind it, and judges
what comes back, what arrived upstream, and what the process says. The first that breaks a promise ends the run: fast-check makes
it smaller, and it is kept in test/fuzz/findings, which the tests replay from then on.

   --seconds N     how long, 1 to 86400; default 60
   --seed N        the chance of an earlier run; default: drawn, and printed
   --replay FILE   play a finding once more, and say what it breaks
   --help          print this

Exit code 0: no promise was broken. 1: one was. 2: the command line is wrong.`;

export const readOptions = (args: readonly string[], drawSeed: () => number) =>
  read(args, usage, { seconds: wholeNumber(1, 86_400, 60), seed: seed(drawSeed), replay: text });

export type Options = NonNullable<ReturnType<typeof readOptions>>;
