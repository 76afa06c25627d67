import { parseOptions, readNumber } from "../../scripts/command-line.ts";

export interface Options {
  /** `limits.inFlightPerEnvironment`. */
  readonly inFlight: number;
  /** How long the service takes for each order. */
  readonly serviceMs: number;
  /** Of each stretch of load. */
  readonly seconds: number;
  readonly json: boolean;
}

export const usage = `npm run bench:overload -- [options]

The built command with a limit on requests in flight, and a service behind it that takes its time for each order, so that
the limit alone decides how much can be served. First as many callers as may be in flight, each of which sends its next
order when it has its answer: that is the peak. Then orders at 1, 2 and 10 times that rate, whether or not earlier ones
have been answered, from a process of its own.

   --in-flight N     the limit, 4 to 256; default 32
   --service-ms N    how long the service takes, 20 to 2000; default 400
   --seconds N       how long each stretch of load lasts, 1 to 600; default 10
   --json            one JSON document instead of the table
   --help            print this

Exit code 0: every target was reached. 1: one was missed. 2: the command line is wrong.`;

const known = {
  "in-flight": { type: "string" },
  "service-ms": { type: "string" },
  seconds: { type: "string" },
  json: { type: "boolean" },
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
    inFlight: readNumber("--in-flight", values["in-flight"] ?? "32", 4, 256),
    serviceMs: readNumber("--service-ms", values["service-ms"] ?? "400", 20, 2_000),
    seconds: readNumber("--seconds", values.seconds ?? "10", 1, 600),
    json: values.json ?? false,
  };
}
