import { Command } from "commander";
import { exitCodes, usageFailure } from "countersign/cli/command";
import { untilStopped } from "countersign/cli/signals";
import { print, printJson } from "countersign/cli/terminal";
import { type Demo, openDemo } from "./demo/env.ts";
import { formatInvitation, formatOpening, formatScore, formatSum, sumUp } from "./demo/header.ts";
import { chooseWidth } from "./demo/layout.ts";
import { usualPorts } from "./demo/ports.ts";
import { formatScene } from "./demo/print.ts";
import { createRun, type SceneResult } from "./demo/run.ts";
import { scenes } from "./demo/scenes.ts";

interface Options {
  readonly folder?: string;
  readonly once?: boolean;
  readonly json?: boolean;
}

export function createCommand(): Command {
  return new Command("demo")
    .description("Show Countersign at work: simulator and proxy on this machine, no account, Redis or Docker needed.")
    .option("--folder <folder>", "put configuration, secrets and log into this new folder, removed at the end")
    .option("--once", "end after the scenes; exit code 0 only if all did what they should")
    .option("--json", "print the results as JSON; only with --once")
    .action(demonstrate);
}

async function demonstrate({ folder, once = false, json = false }: Options): Promise<void> {
  if (json && !once) throw usageFailure("--json is for programs, and they want an end: add --once.");
  const stopped = untilStopped();
  const demo = await openDemo(usualPorts, folder);
  let signal = "the end";
  try {
    if (!json) process.on("SIGHUP", () => readAgain(demo));
    if (!json) printLines(formatOpening(demo));
    const width = chooseWidth(process.stdout.columns);
    const results = await runAll(demo, stopped, (each) => {
      if (!json) printLines([...formatScene(each, width), ""]);
    });
    if (json) printJson(describeResults(demo, results));
    else printLines(formatSummary(demo, results));
    if (!isGood(results)) process.exitCode = exitCodes.no;
    if (once || results.length < scenes.length) return;
    printLines(["", ...formatInvitation(demo)]);
    signal = await stopped;
    printLines(["", "", ...formatSum(sumUp(demo))]);
  } finally {
    await demo.close(signal);
  }
}

/** The line is for the person who sent the signal. Where a closed terminal sent it, the failed write ends the demo. */
function readAgain(demo: Demo): void {
  print("   SIGHUP: configuration and secrets are read again.");
  demo.reload();
}

/** All scenes in order, or those before it was ended. */
async function runAll(
  demo: Demo,
  stopped: Promise<unknown>,
  show: (result: SceneResult) => void,
): Promise<SceneResult[]> {
  const run = createRun(demo);
  const ended = stopped.then(() => undefined);
  const all: SceneResult[] = [];
  for (const [index, scene] of scenes.entries()) {
    const result = await Promise.race([ended, run(scene, index + 1)]);
    if (result === undefined) break;
    all.push(result);
    show(result);
  }
  return all;
}

function isGood(results: readonly SceneResult[]): boolean {
  return results.length === scenes.length && results.every(({ wrong }) => wrong.length === 0);
}

function formatSummary(demo: Demo, results: readonly SceneResult[]): string[] {
  const good = results.filter(({ wrong }) => wrong.length === 0).length;
  return [...formatSum(sumUp(demo)), formatScore(good, scenes.length)];
}

function describeResults(demo: Demo, results: readonly SceneResult[]): object {
  const { url, statusUrl, metricsUrl, simulator } = demo;
  return {
    ok: isGood(results),
    addresses: { url, statusUrl, metricsUrl, baseUrl: simulator.apiUrl, authUrl: simulator.loginUrl },
    scenes: results.map(({ number, scene, wrong, upstreamRequests, ...rest }) => ({
      number,
      title: scene.title,
      ok: wrong.length === 0,
      wrong,
      sent: scene.request,
      left: upstreamRequests,
      ...rest,
    })),
    sum: sumUp(demo),
  };
}

function printLines(lines: readonly string[]): void {
  for (const line of lines) print(line);
}
