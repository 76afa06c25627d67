import { parseOptions, readNumber } from "../../scripts/command-line.ts";
import { leastLives } from "./plan.ts";
import type { SimulationOptions } from "./simulation.ts";

export interface Options extends SimulationOptions {
  readonly json: boolean;
}

export const usage = `npm run bench:fleet -- [options]

A fleet of replicas in one process, a real redis-server, and a clock that leaps from event to event: a day in two minutes.
Replicas are restarted and Redis is killed at random. Nothing but the Redis protocol crosses a socket.

   --seed N          repeats the chance of an earlier run; default: drawn, and printed
   --replicas N      2 to 5000; default 1000
   --lifetimes N     of tokens, ${leastLives} to 1000; default 30: 10 calm, 8 with restarts, 4 around an outage of an hour, 8 mixed
   --start-within S  seconds in which all replicas are started, 0 to 3600; default 1. With 0 all start in the same
                     instant on an empty Redis, which costs each of them more commands than a lifetime should
   --json            one JSON document instead of the table
   --help            print this

Exit code 0: every target was reached. 1: one was missed, or nothing was proved. 2: the command line is wrong.`;

const known = {
  seed: { type: "string" },
  replicas: { type: "string" },
  lifetimes: { type: "string" },
  "start-within": { type: "string" },
  json: { type: "boolean" },
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
    seed: values.seed === undefined ? drawSeed() : readNumber("--seed", values.seed, 0, 2 ** 32 - 1),
    replicas: readNumber("--replicas", values.replicas ?? "1000", 2, 5_000),
    lifetimes: readNumber("--lifetimes", values.lifetimes ?? "30", leastLives, 1_000),
    startWithinMs: 1_000 * readNumber("--start-within", values["start-within"] ?? "1", 0, 3_600),
    json: values.json ?? false,
  };
}
