import { writeFileSync } from "node:fs";
import { runCommand } from "../../scripts/command-line.ts";
import { print, printError, printJson } from "../../src/cli/terminal.ts";
import { freePort } from "../../testkit/free-port.ts";
import { countersign } from "./countersign.ts";
import { playImage } from "./image.ts";
import { type Measured, measure, WrongAnswer, withService } from "./measure.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { peers } from "./peers.ts";
import type { Program } from "./program.ts";
import { drawSvg, formatTable, type Row, sumUp } from "./report.ts";

// `npm run bench`: Countersign beside other proxies, see options.ts.

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));
process.exitCode = await runCommand(readOptions, usage, play);

async function play(options: Options): Promise<number> {
  if (options.image) return playImage(options);
  const programs = choosePrograms(options);
  const all = new Map<Program, Measured[]>(programs.map((program) => [program, []]));
  try {
    await withService(async (service) => {
      for (let round = 1; round <= options.rounds; round++) {
        for (const program of programs) {
          if (!options.json) printError(`round ${round} of ${options.rounds}: ${program.name}`);
          all.get(program)?.push(await measure(program, service, await freePort(), options));
        }
      }
    });
  } catch (error) {
    if (!(error instanceof WrongAnswer)) throw error;
    printError(error.message);
    return 1;
  }
  report(
    [...all].map(([{ name, job }, rounds]) => sumUp(name, job, rounds)),
    options,
  );
  return 0;
}

/** Those asked for, or all that are installed; what is missing is named. */
function choosePrograms({ only, json }: Options): Program[] {
  const known = [...countersign, ...peers].filter(({ name }) => only.length === 0 || only.includes(name));
  const missing = known.filter((program) => !program.isInstalled()).map(({ name }) => name);
  if (missing.length > 0 && !json) printError(`Not installed, left out: ${missing.join(", ")}. See bench/README.md.`);
  return known.filter(({ name }) => !missing.includes(name));
}

function report(rows: readonly Row[], { json, svg }: Options): void {
  const sorted = [...rows].sort((a, b) => a.cpuUs - b.cpuUs);
  if (svg !== undefined) writeFileSync(svg, drawSvg(sorted));
  if (json) printJson({ node: process.version, rows: sorted });
  else print(formatTable(sorted));
}
