import { parseOptions, readNumber } from "../../scripts/command-line.ts";

export interface Options {
  /** Each round measures every program once, in turn. */
  readonly rounds: number;
  /** Of each measurement. */
  readonly seconds: number;
  readonly connections: number;
  /** Programs to measure, by name; all that are found when empty. */
  readonly only: readonly string[];
  /** Where the picture is written, if anywhere. */
  readonly svg: string | undefined;
  readonly json: boolean;
}

export const usage = `npm run bench -- [options]

Measures Countersign beside other proxies, each on a processor of its own, with the load and the service on another one.
Rounds are interleaved (A B C … A B C …); the table has medians and their spread. The service checks a sample of all
signatures and tokens, so a fast wrong answer cannot win. Programs that are not installed are left out and named.

   --rounds N        1 to 100; default 5
   --seconds N       of each measurement, 1 to 600; default 5
   --connections N   1 to 512; default 32
   --only A,B        these programs
   --svg FILE        writes the picture of the table
   --json            one JSON document instead of the table
   --help            print this

It needs Linux, wrk and taskset. Exit code 0: measured. 1: a program answered wrongly. 2: the command line is wrong.`;

const known = {
  rounds: { type: "string" },
  seconds: { type: "string" },
  connections: { type: "string" },
  only: { type: "string" },
  svg: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/**
 * @returns undefined when help is wanted
 * @throws UsageError
 */
export function readOptions(args: readonly string[]): Options | undefined {
  const values = parseOptions(args, known, usage);
  if (values.help === true) return undefined;
  return {
    rounds: readNumber("--rounds", values.rounds ?? "5", 1, 100),
    seconds: readNumber("--seconds", values.seconds ?? "5", 1, 600),
    connections: readNumber("--connections", values.connections ?? "32", 1, 512),
    only: (values.only ?? "").split(",").filter((name) => name !== ""),
    svg: values.svg,
    json: values.json ?? false,
  };
}
