import { runCommand } from "../../scripts/command-line.ts";
import { print, printJson } from "../../src/cli/terminal.ts";
import { formatHead, formatRow, formatTarget } from "../table.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { columns, legend } from "./report.ts";
import { type Simulated, simulate } from "./simulation.ts";
import { judge } from "./verdict.ts";

// `npm run bench:fleet`: what a thousand replicas cost the authorization server and Redis in thirty token lifetimes, a day and a
// night. See options.ts for what may be asked, plan.ts for what befalls them, verdict.ts for what is to be reached.

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));
process.exitCode = await runCommand(readOptions, usage, play);

async function play(options: Options): Promise<number> {
  const { json, ...simulation } = options;
  const { seed, replicas, lifetimes } = simulation;
  const say = json ? () => {} : print;
  say(`${replicas} replicas, ${lifetimes} token lifetimes, --seed ${seed}\n${legend}\n\n${formatHead(columns)}`);
  const startedMs = performance.now();
  const { rows, events }: Simulated = await simulate(simulation, (row) => say(formatRow(columns, row, replicas)));
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const targets = judge(rows, replicas);
  const isReached = targets.every((target) => target.isReached);
  say(["", ...targets.map(formatTarget), "", `${events} events in ${seconds} s`].join("\n"));
  if (json) printJson({ ...simulation, lifetimesMeasured: rows, targets, isReached, events, seconds });
  return isReached ? 0 : 1;
}
