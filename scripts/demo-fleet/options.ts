import { flag, readOptions as read, wholeNumber } from "../command-line.ts";

export const usage = `npm run demo:fleet -- [options]

   --once                 tell the story once and end; this is the default
   --seconds N            go on with the load of chapter 3 for at least N seconds (0 to 3600)
   --token-lifetime N     tokens live N seconds (10 to 60; default 20); the story takes about 4 lives
   --help                 print this

Exit code 0: every promise was kept. 1: one was not, or there was no end. 2: the command line is wrong.`;

export function readOptions(args: readonly string[]) {
  const options = read(args, usage, {
    once: flag,
    seconds: wholeNumber(0, 3_600, 0),
    tokenLifetime: wholeNumber(10, 60, 20),
  });
  return options && { seconds: options.seconds, tokenLifetimeSeconds: options.tokenLifetime };
}

export type Options = NonNullable<ReturnType<typeof readOptions>>;
