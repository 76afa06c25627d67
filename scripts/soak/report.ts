import { paint } from "../../src/cli/terminal.ts";
import type { Unexplained } from "./account.ts";
import { referenceOf } from "./callers.ts";
import type { Growth, Snapshot } from "./memory.ts";
import type { Options } from "./options.ts";
import { type Findings, type Kept, megabytes, type Played } from "./verdict.ts";

interface Column {
  readonly title: string;
  /** Negative: from the left. */
  readonly width: number;
  readonly show: (played: Played, startedMs: number) => string;
}

const columns: readonly Column[] = [
  { title: "time", width: 7, show: ({ startedMs }, sinceMs) => formatTime(startedMs - sinceMs) },
  { title: "fault", width: -40, show: ({ fault }) => fault.name },
  { title: "orders", width: 7, show: ({ orders }) => `${orders}` },
  { title: "failed", width: 7, show: ({ failures }) => `${sum(failures)}` },
  { title: "all served", width: 11, show: ({ recoveryMs }) => `+${(recoveryMs / 1_000).toFixed(1)} s` },
  { title: "heap, MiB", width: 12, show: (played) => list(played, ({ heapBytes }) => inMebibytes(heapBytes, 1)) },
  { title: "rss, MiB", width: 9, show: (played) => list(played, ({ residentBytes }) => inMebibytes(residentBytes, 0)) },
  { title: "files", width: 9, show: (played) => list(played, ({ descriptors }) => `${descriptors}`) },
  { title: "loop, ms", width: 9, show: (played) => list(played, ({ loopDelayP99Ms }) => loopDelayP99Ms.toFixed(0)) },
];

const longestStallMs = 500;

/** What the columns mean. */
export const legend = `all served: how long after the fault's end each replica had served each site again. heap, rss, files, loop: of each
replica in the calm before the next fault: heap after a full garbage collection, resident memory, open descriptors, p99 of
the event loop's delay since the last line.`;

export function formatHead(): string {
  return paint("dim", columns.map(({ title, width }) => pad(title, width)).join(" "));
}

/** A line for the round, and below it one for the failures that callers saw. */
export function formatRound(played: Played, startedMs: number): string {
  const line = columns.map(({ width, show }) => pad(show(played, startedMs), width)).join(" ");
  const seen = [...played.failures].map(([label, count]) => `${count} ${label}`).join(", ");
  const lines = seen === "" ? [line] : [line, paint("dim", `${" ".repeat(8)}${seen}`)];
  if (played.unexplained > 0) lines.push(paint("red", `${" ".repeat(8)}${played.unexplained} of them UNEXPLAINED`));
  return lines.join("\n");
}

/** The report at the end. */
export function formatSum(findings: Findings, promises: readonly Kept[], startedMs: number): string {
  const { unexplainedFailures, disagreements, sent, lastedMs, failures, growths } = findings;
  return [
    "",
    ...unexplainedFailures.map((one) => `UNEXPLAINED ${formatUnexplained(one, startedMs)}`),
    ...disagreements.map(({ number, what }) => `DISAGREEMENT ${referenceOf(number)}: ${what}`),
    `${sent} orders in ${formatTime(lastedMs)}`,
    ...[...failures].map(([label, count]) => `${`${count}`.padStart(8)} ${label}`),
    ...growths.map(formatGrowth),
    formatStall(findings),
    "",
    ...promises.map(formatKept),
  ].join("\n");
}

function formatKept({ what, wanted, measured, isKept }: Kept): string {
  const mark = paint(isKept ? "green" : "red", isKept ? "kept" : "NOT KEPT");
  return `${mark}  ${what}: ${measured} ${paint("dim", `(wanted: ${wanted})`)}`;
}

/** The growth of a process, for readers who look for a leak. */
function formatGrowth({ process, snapshots, heapBytes, residentBytes, heapBytesPerMinute }: Growth): string {
  const slope = `${(heapBytesPerMinute / 1_024).toFixed(1)} KiB a minute`;
  const figures = `heap ${signed(heapBytes)} (slope ${slope}), rss ${signed(residentBytes)}`;
  return `replica ${process}: ${figures}, over ${snapshots} snapshots`;
}

/** If the measuring process stalls, it measures the machine. */
function formatStall({ driverStoodStillMs }: Findings): string {
  const doubt = driverStoodStillMs > longestStallMs ? ": this machine is busy, and its figures say little" : "";
  return `the callers stood still for at most ${Math.round(driverStoodStillMs)} ms${doubt}`;
}

function formatUnexplained(one: Unexplained, startedMs: number): string {
  const where = `replica ${one.replica}, site ${one.site}, ${referenceOf(one.number)}, request ${one.requestId ?? "-"}`;
  return `${formatTime(one.endedMs - startedMs)}  ${one.label}; ${where}; during: ${one.during}`;
}

export function formatTime(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000;
  return `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, "0")}`;
}

function list({ snapshots }: Played, show: (snapshot: Snapshot) => string): string {
  return snapshots.map(show).join(" ");
}

function inMebibytes(bytes: number, digits: number): string {
  return (bytes / 1_048_576).toFixed(digits);
}

function signed(bytes: number): string {
  return `${bytes < 0 ? "" : "+"}${megabytes(bytes)}`;
}

function pad(text: string, width: number): string {
  return width < 0 ? text.padEnd(-width) : text.padStart(width);
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

/** The whole report as one JSON document. */
export function describeAll(options: Options, findings: Findings, promises: readonly Kept[]): object {
  return {
    ...options,
    ...findings,
    rounds: findings.rounds.map(({ fault, failures, recoveryMs, startedMs, endedMs }) => ({
      fault: fault.name,
      failures: Object.fromEntries(failures),
      recoveryMs,
      lastedMs: endedMs - startedMs,
    })),
    failures: Object.fromEntries(findings.failures),
    tokenReasons: Object.fromEntries(findings.tokenReasons),
    promises,
    isKept: promises.every(({ isKept }) => isKept),
  };
}
