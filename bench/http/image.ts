import { join } from "node:path";
import { print, printError, printJson } from "../../src/cli/terminal.ts";
import { freePort } from "../../testkit/free-port.ts";
import { limitProcesses } from "../../testkit/kernel-limits.ts";
import { imageCommand } from "./countersign.ts";
import { measureSteady, type Steady, WrongAnswer, withService } from "./measure.ts";
import type { Options } from "./options.ts";
import { peers } from "./peers.ts";
import { installed, type Program, startProgram } from "./program.ts";
import { toMarkdown } from "./report.ts";

// `npm run bench -- --image`: what many sidecars on one machine cost, see options.ts.

const memoryBytes = 256 * 1_048_576;
/** Processors, each with the rates that it can serve. */
const containers = [
  { cpus: 1, rates: [50, 200, 1_000] },
  { cpus: 0.1, rates: [50, 200] },
] as const;
const others = ["nginx + njs", "Envoy credential injector", "Go ReverseProxy + x/oauth2", "node:http + undici"];

/** @throws WrongAnswer */
export async function playImage({ node = process.execPath, ...options }: Options): Promise<void> {
  const bare: Program = {
    name: "Node.js alone",
    job: "none",
    isInstalled: () => true,
    start: ({ port, cpu }) =>
      startProgram([node, join(import.meta.dirname, "peers/bare.mjs"), String(port)], { port, cpu }),
  };
  const known = [bare, imageCommand(node, memoryBytes), ...peers.filter(({ name }) => others.includes(name))];
  const programs = installed(known, printError);
  const rows = containers.flatMap((container) =>
    programs.map((program) => ({ program, ...container, measured: [] as Steady[] })),
  );
  await withService(async (service) => {
    for (let round = 1; round <= options.rounds; round++) {
      for (const { program, cpus, rates, measured } of rows) {
        printError(`round ${round} of ${options.rounds}: ${program.name}, ${cpus} processor`);
        const limits = limitProcesses({ memoryBytes, cpus });
        if (limits === undefined) throw new WrongAnswer("This process may make no cgroup; run it as root.");
        const taken = program === bare ? [] : rates;
        measured.push(await measureSteady(program, service, await freePort(), { ...options, limits, rates: taken }));
        limits.remove();
      }
    }
  });
  const shown = rows.map(({ program: { name }, cpus, measured }) => ({ name, cpus, measured }));
  if (options.json) printJson(shown);
  else print(formatRows(shown));
}

const heads = [
  "program",
  "processors",
  "start ms",
  "CPU ms",
  "MiB 15 s",
  "MiB idle",
  "µs at 50/s",
  "at 200/s",
  "at 1,000/s",
  "at 200/s, warm",
  "p50 ms at 200/s",
  "p99 ms",
];

/** The table of medians, as Markdown. */
function formatRows(
  rows: readonly { readonly name: string; readonly cpus: number; readonly measured: readonly Steady[] }[],
): string {
  const cells = rows.map(({ name, cpus, measured }) => {
    const shown = (read: (one: Steady) => number | undefined, digits = 0) =>
      middle(measured.map(read))?.toFixed(digits) ?? "";
    return [
      name,
      String(cpus),
      shown(({ startMs }) => startMs),
      shown(({ startCpuMs }) => startCpuMs),
      shown(({ soonMiB }) => soonMiB),
      shown(({ idleMiB }) => idleMiB),
      ...[0, 1, 2].map((index) => shown(({ at }) => at[index]?.cpuUs)),
      shown(({ warm }) => warm?.cpuUs),
      shown(({ at }) => at[1]?.p50Ms, 1),
      shown(({ at }) => at[1]?.p99Ms, 1),
    ];
  });
  return toMarkdown(heads, 1, cells);
}

function middle(figures: readonly (number | undefined)[]): number | undefined {
  const sorted = figures.filter((figure) => figure !== undefined).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
