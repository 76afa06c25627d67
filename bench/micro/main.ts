import { createHmac, randomBytes } from "node:crypto";
import { flag, names, readOptions as read, runCommand, UsageError, wholeNumber } from "../../scripts/command-line.ts";
import { print, printJson } from "../../src/cli/terminal.ts";
import { type Operation, operations } from "./operations.ts";

// `npm run bench:micro`: what the pieces of a request cost, each against its budget.

const usage = `npm run bench:micro -- [options]

Measures single operations, in turn and many times, in CPU time for each. Machines differ, so budgets are in calibrations:
one is an HMAC-SHA256 of 300 bytes by node:crypto in the same run. The table has medians, and the spread of the middle half.

   --rounds N     5 to 1000; default 25
   --only A,B     these operations
   --check        exit code 1 if one is over its budget
   --json         one JSON document instead of the table
   --help         print this

Exit code 0: measured. 1: over budget, with --check. 2: the command line is wrong.`;

interface Row {
  readonly name: string;
  readonly ns: number;
  readonly spreadPercent: number;
  /** In calibrations of the same round. */
  readonly ratio: number;
  readonly budget: number;
}

/** Of one measurement: long compared with the clock's microsecond, short compared with the machine's other work. */
const measureMs = 10;

function readOptions(args: readonly string[]) {
  const options = read(args, usage, { rounds: wholeNumber(5, 1_000, 25), only: names, check: flag, json: flag });
  const unknown = options?.only.find((name) => !operations.some((operation) => operation.name === name));
  if (unknown !== undefined) throw new UsageError(`There is no operation ${unknown}.\n\n${usage}`);
  return options;
}

async function play({ rounds, only, check, json }: NonNullable<ReturnType<typeof readOptions>>): Promise<number> {
  const chosen = operations.filter(({ name }) => only.length === 0 || only.includes(name));
  const measures = [];
  for (const operation of [calibration, ...chosen]) measures.push(await prepare(operation));
  const results = measures.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, measure] of measures.entries()) results[index]?.push(await measure());
  }
  const [calibrations = [], ...others] = results;
  const rows = chosen.map(({ name, budget }, index): Row => {
    const ns = others[index] ?? [];
    const ratios = ns.map((each, round) => each / (calibrations[round] ?? Number.NaN));
    const spreadPercent = ((at(ns, 0.75) - at(ns, 0.25)) / at(ns, 0.5)) * 100;
    return { name, ns: at(ns, 0.5), spreadPercent, ratio: at(ratios, 0.5), budget };
  });
  const calibrationNs = at(calibrations, 0.5);
  if (json) printJson({ node: process.version, calibrationNs, rows });
  else print(formatTable(calibrationNs, rows));
  return check && rows.some(({ ratio, budget }) => ratio > budget) ? 1 : 0;
}

const calibration: Pick<Operation, "open"> = {
  open() {
    const key = randomBytes(32);
    const text = randomBytes(150).toString("hex");
    return () => void createHmac("sha256", key).update(text).digest("hex");
  },
};

/** Warms the operation up until its code is compiled. @returns a function that measures nanoseconds of CPU for each run */
async function prepare({ open }: Pick<Operation, "open">): Promise<() => Promise<number>> {
  const run = open();
  let ns = await time(run, 20_000);
  for (let warmUp = 0; warmUp < 10; warmUp++) ns = await time(run, runsFor(ns));
  return () => time(run, runsFor(ns));
}

function runsFor(ns: number): number {
  return Math.max(1, Math.round((measureMs * 1e6) / ns));
}

async function time(run: () => void | Promise<void>, runs: number): Promise<number> {
  const before = process.cpuUsage();
  for (let n = 0; n < runs; n++) {
    const running = run();
    if (running !== undefined) await running;
  }
  const { user, system } = process.cpuUsage(before);
  return Math.max(1, ((user + system) * 1_000) / runs);
}

function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN;
}

function formatTable(calibrationNs: number, rows: readonly Row[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  const line = (name: string, ...cells: readonly string[]) =>
    [name.padEnd(width), ...cells.map((cell) => cell.padStart(8))].join("");
  return [
    line("operation", "ns", "±%", "ratio", "budget"),
    ...rows.map(({ name, ns, spreadPercent, ratio, budget }) => {
      const verdict = ratio > budget ? "  over budget" : "";
      return line(name, ns.toFixed(0), spreadPercent.toFixed(0), ratio.toFixed(2), budget.toFixed(2)) + verdict;
    }),
    `\nA ratio of 1 is one HMAC-SHA256 of 300 bytes: ${calibrationNs.toFixed(0)} ns in this run.`,
  ].join("\n");
}

process.exitCode = await runCommand(readOptions, usage, play);
