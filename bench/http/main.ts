import { writeFileSync } from "node:fs";
import { runCommand } from "../../scripts/command-line.ts";
import { print, printError, printJson } from "../../src/cli/terminal.ts";
import { freePort } from "../../testkit/free-port.ts";
import { countersign } from "./countersign.ts";
import { playImage } from "./image.ts";
import { type Measured, measure, WrongAnswer, withService } from "./measure.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { peers } from "./peers.ts";
import { installed, type Program } from "./program.ts";
import { drawSvg, formatTable, type Row, sumUp } from "./report.ts";

// `npm run bench`: Countersign beside other proxies, see options.ts.

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));
process.exitCode = await runCommand(readOptions, usage, play);

async function play(options: Options): Promise<number> {
  try {
    await (options.image ? playImage(options) : playPeers(options));
    return 0;
  } catch (error) {
    if (!(error instanceof WrongAnswer)) throw error;
    printError(error.message);
    return 1;
  }
}

async function playPeers(options: Options): Promise<void> {
  const { rounds, only } = options;
  const say = options.json ? () => {} : printError;
  const known = [...countersign, ...peers].filter(({ name }) => only.length === 0 || only.includes(name));
  const programs = installed(known, say);
  const all = new Map<Program, Measured[]>(programs.map((program) => [program, []]));
  await withService(async (service) => {
    for (let round = 1; round <= rounds; round++) {
      for (const program of programs) {
        say(`round ${round} of ${rounds}: ${program.name}`);
        all.get(program)?.push(await measure(program, service, await freePort(), options));
      }
    }
  });
  report(
    [...all].map(([{ name, job }, measured]) => sumUp(name, job, measured)),
    options,
  );
}

function report(rows: readonly Row[], { json, svg }: Options): void {
  const sorted = [...rows].sort((a, b) => a.cpuUs - b.cpuUs);
  if (svg !== undefined) writeFileSync(svg, drawSvg(sorted));
  if (json) printJson({ node: process.version, rows: sorted });
  else print(formatTable(sorted));
}
