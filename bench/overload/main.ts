import { runCommand } from "../../scripts/command-line.ts";
import { print, printJson } from "../../src/cli/terminal.ts";
import { type Column, formatHead, formatRow, formatTarget } from "../table.ts";
import { type Measured, measure } from "./measure.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { percentile } from "./stretch.ts";
import { judge, shareOfPeak } from "./verdict.ts";

// `npm run bench:overload`: how much is served, and how fast the rest is refused, under overload.
// options.ts has the options, load.ts the callers, verdict.ts the targets.

const columns: readonly Column<Measured, readonly Measured[]>[] = [
  { title: "load", width: 6, show: ({ times }) => (times === undefined ? "peak" : `${times} x`) },
  { title: "offered/s", width: 10, show: ({ offeredPerSecond }) => offeredPerSecond.toFixed(0) },
  { title: "goodput/s", width: 10, show: ({ goodputPerSecond }) => goodputPerSecond.toFixed(1) },
  { title: "of peak", width: 9, show: (measured, all) => `${(100 * shareOfPeak(measured, all)).toFixed(1)} %` },
  { title: "refused", width: 8, show: ({ refusedMs }) => `${refusedMs.length}` },
  { title: "refusal p50", width: 12, show: ({ refusedMs }) => formatMs(percentile(refusedMs, 0.5)) },
  { title: "p99", width: 9, show: ({ refusedMs }) => formatMs(percentile(refusedMs, 0.99)) },
  { title: "served p99", width: 11, show: ({ servedMs }) => formatMs(percentile(servedMs, 0.99)) },
  { title: "/livez p99", width: 11, show: ({ liveMs }) => formatMs(percentile(liveMs, 0.99)) },
  { title: "slowest", width: 9, show: ({ liveMs }) => formatMs(Math.max(...liveMs)) },
  { title: "caller stood still", width: 19, show: ({ stoodStillMs }) => formatMs(stoodStillMs) },
];

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

function formatMs(ms: number): string {
  return Number.isFinite(ms) ? `${ms.toFixed(1)} ms` : "-";
}
