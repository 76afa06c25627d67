import { runCommand } from "../../scripts/command-line.ts";
import { print, printJson } from "../../src/cli/terminal.ts";
import { formatHead, formatRow, formatTarget } from "../table.ts";
import { type Measured, measure } from "./measure.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { columns } from "./report.ts";
import { judge } from "./verdict.ts";

// `npm run bench:overload`: what is served, and how fast the rest is refused, when there is more to do than can be done.
// See options.ts for what may be asked, load.ts for the callers, verdict.ts for what is to be reached.

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));
process.exitCode = await runCommand(readOptions, usage, play);
process.exit();

async function play(options: Options): Promise<number> {
  const { inFlight, serviceMs, seconds, json } = options;
  const say = json ? () => {} : print;
  say(
    `at most ${inFlight} in flight, a service that takes ${serviceMs} ms, ${seconds} s each\n\n${formatHead(columns)}`,
  );
  const all: Measured[] = [];
  await measure(options, (measured) => {
    all.push(measured);
    say(formatRow(columns, measured, all));
  });
  const targets = judge(all);
  const isReached = targets.every((target) => target.isReached);
  say(["", ...targets.map(formatTarget)].join("\n"));
  if (json) printJson({ ...options, targets, isReached });
  return isReached ? 0 : 1;
}
