import { flag, readOptions as read, seed, wholeNumber } from "../../scripts/command-line.ts";
import { leastLives } from "./plan.ts";

export const usage = `npm run bench:fleet -- [options]

A fleet of replicas in one process, a real redis-server, and a clock that leaps from event to event: a day in two minutes.
Replicas are restarted and Redis is killed at random. Nothing but the Redis protocol crosses a socket.

   --seed N          repeats the random choices of an earlier run; default: drawn, and printed
   --replicas N      2 to 5000; default 1000
   --lifetimes N     of tokens, ${leastLives} to 1000; default 30: 10 calm, 8 with restarts, 4 around an outage of an hour, 8 mixed
   --start-within S  seconds in which all replicas are started, 0 to 3600; default 1. With 0 all start in the same
                     instant on an empty Redis, which costs each of them more commands than a lifetime should
   --json            one JSON document instead of the table
   --help            print this

Exit code 0: every target was reached. 1: one was missed, or nothing was proved. 2: the command line is wrong.`;

export function readOptions(args: readonly string[], drawSeed: () => number) {
  const options = read(args, usage, {
    seed: seed(drawSeed),
    replicas: wholeNumber(2, 5_000, 1_000),
    lifetimes: wholeNumber(leastLives, 1_000, 30),
    startWithin: wholeNumber(0, 3_600, 1),
    json: flag,
  });
  if (options === undefined) return undefined;
  const { startWithin, ...rest } = options;
  return { ...rest, startWithinMs: 1_000 * startWithin };
}

export type Options = NonNullable<ReturnType<typeof readOptions>>;
