import { parseDurationMs } from "../../src/model/clock.ts";
import { flag, readOptions as read, seed, text, UsageError, wholeNumber } from "../command-line.ts";
import { everyFault } from "./faults.ts";

export const usage = `npm run soak -- [options]

Two replicas of the built command over a real redis-server, with callers that send orders at a steady rate and the
simulated service in this process. Again and again a fault: tokens revoked, the authorization server or the service away, slow or
broken, Redis hung, killed or read-only, callers that leave, a replica killed and replaced, everything away at once. Each
order is followed by its own reference from its caller to the service and in the log.

   --minutes N     how long, 1 to 1440; default 10
   --faults N      play N faults instead, 1 to 10000; each kind comes once before any comes again
   --every TIME    from one fault to the next, like 30s, at least 1s; default 30s. The fault lasts a third of it
   --rate N        orders per second over all replicas, 10 to 2000; default 300
   --seed N        the order of the faults of an earlier run; default: drawn, and printed
   --only TEXT     only faults whose name has this text
   --patience N    allows N times the promised durations, 1 to 100; default 1. For a machine that is not quiet
   --logs FOLDER   keep each replica's log there, to look into what was found
   --json          one JSON document instead of the table
   --help          print this

Exit code 0: every promise was kept. 1: one was not. 2: the command line is wrong.`;

const shortestEveryMs = 1_000;
const longestEveryMs = 3_600_000;

export function readOptions(args: readonly string[], drawSeed: () => number) {
  const options = read(args, usage, {
    seed: seed(drawSeed),
    minutes: wholeNumber(1, 1_440, 10),
    faults: wholeNumber(1, 10_000, undefined),
    every: text,
    rate: wholeNumber(10, 2_000, 300),
    only: text,
    patience: wholeNumber(1, 100, 1),
    logs: text,
    json: flag,
  });
  if (options === undefined) return undefined;
  const { every, only, ...rest } = options;
  return { ...rest, everyMs: readEvery(every), only: readOnly(only) };
}

export type Options = NonNullable<ReturnType<typeof readOptions>>;

function readOnly(text = ""): string {
  if (everyFault.some(({ name }) => name.includes(text))) return text;
  throw new UsageError(`--only fits none of:\n${everyFault.map(({ name }) => `   ${name}`).join("\n")}`);
}

function readEvery(text = "30s"): number {
  const everyMs = parseDurationMs(text);
  if (everyMs !== undefined && everyMs >= shortestEveryMs && everyMs <= longestEveryMs) return everyMs;
  throw new UsageError("--every wants a time from 1s to 60m, like 2s, 30s or 2m.");
}
