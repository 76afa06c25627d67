import { readDurationMs } from "../../src/config/values.ts";
import { parseOptions, readNumber, UsageError } from "../command-line.ts";
import { everyFault } from "./schedule.ts";

export interface Options {
  readonly seed: number;
  readonly minutes: number;
  /** So many faults in place of so many minutes. */
  readonly faults: number | undefined;
  readonly everyMs: number;
  readonly rate: number;
  /** Only faults whose name has this text. */
  readonly only: string;
  /** How many times as long as promised things may take. */
  readonly patience: number;
  /** Where the replicas' logs are kept. */
  readonly logs: string | undefined;
  readonly json: boolean;
}

export const usage = `npm run soak -- [options]

Two replicas of the built command over a real redis-server, with callers that send orders at a steady rate and the
simulated service in this process. Again and again a fault: tokens revoked, the authorization server or the service away, slow or
broken, Redis hung, killed or read-only, callers that leave, a replica killed and replaced, everything away at once. Each
order is followed by its own reference from its caller to the service and in the log.

   --minutes N     how long, 1 to 1440; default 10
   --faults N      so many faults instead, 1 to 10000; each kind comes once before any comes again
   --every TIME    from one fault to the next, like 30s, at least 1s; default 30s. A third of it the fault lasts
   --rate N        orders per second over all replicas, 10 to 2000; default 300
   --seed N        the order of the faults of an earlier run; default: drawn, and printed
   --only TEXT     only faults whose name has this text
   --patience N    things may take N times as long as promised, 1 to 100; default 1. For a machine that is not quiet
   --logs FOLDER   keep each replica's log there, to look into what was found
   --json          one JSON document instead of the table
   --help          print this

Exit code 0: every promise was kept. 1: one was not. 2: the command line is wrong.`;

const known = {
  minutes: { type: "string" },
  faults: { type: "string" },
  every: { type: "string" },
  rate: { type: "string" },
  seed: { type: "string" },
  only: { type: "string" },
  patience: { type: "string" },
  logs: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

const shortestEveryMs = 1_000;
const longestEveryMs = 3_600_000;

/**
 * @returns undefined when help is wanted
 * @throws UsageError
 */
export function readOptions(args: readonly string[], drawSeed: () => number): Options | undefined {
  const values = parseOptions(args, known, usage);
  if (values.help) return undefined;
  return {
    seed: values.seed === undefined ? drawSeed() : readNumber("--seed", values.seed, 0, 2 ** 32 - 1),
    minutes: readNumber("--minutes", values.minutes ?? "10", 1, 1_440),
    faults: values.faults === undefined ? undefined : readNumber("--faults", values.faults, 1, 10_000),
    everyMs: readEvery(values.every ?? "30s"),
    rate: readNumber("--rate", values.rate ?? "300", 10, 2_000),
    only: readOnly(values.only ?? ""),
    patience: readNumber("--patience", values.patience ?? "1", 1, 100),
    logs: values.logs,
    json: values.json ?? false,
  };
}

function readOnly(text: string): string {
  if (everyFault.some(({ name }) => name.includes(text))) return text;
  throw new UsageError(`--only fits none of:\n${everyFault.map(({ name }) => `   ${name}`).join("\n")}`);
}

function readEvery(text: string): number {
  const read = readDurationMs(text);
  if ("value" in read && read.value >= shortestEveryMs && read.value <= longestEveryMs) return read.value;
  throw new UsageError("--every wants a time from 1s to 60m, like 2s, 30s or 2m.");
}
