import { Command } from "commander";
import { exitCodes, usageFailure } from "./command.ts";
import { formatInvitation, formatOpening, formatScore, formatSum, sumUp } from "./demo/frame.ts";
import { chooseWidth } from "./demo/layout.ts";
import { createPlay, type Played } from "./demo/play.ts";
import { usualPorts } from "./demo/ports.ts";
import { formatScene } from "./demo/print.ts";
import { scenes } from "./demo/scenes.ts";
import { type Demo, openDemo } from "./demo/stage.ts";
import { untilStopped } from "./signals.ts";
import { print, printJson } from "./terminal.ts";

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
    const played = await playAll(demo, stopped, (each) => {
      if (!json) printLines([...formatScene(each, width), ""]);
    });
    if (json) printJson(describeResults(demo, played));
    else printLines(formatSummary(demo, played));
    if (!isGood(played)) process.exitCode = exitCodes.no;
    if (once || played.length < scenes.length) return;
    printLines(["", ...formatInvitation(demo)]);
    signal = await stopped;
    printLines(["", "", ...formatSum(sumUp(demo))]);
  } finally {
    await demo.close(signal);
  }
}

/** The line tells whoever sent the signal; where a closed terminal did, it cannot be written, and that ends the demo. */
function readAgain(demo: Demo): void {
  print("   SIGHUP: configuration and secrets are read again.");
  demo.reload();
}

/** All scenes in order, or those before somebody ended it. */
async function playAll(demo: Demo, stopped: Promise<unknown>, show: (played: Played) => void): Promise<Played[]> {
  const play = createPlay(demo);
  const ended = stopped.then(() => undefined);
  const all: Played[] = [];
  for (const [index, scene] of scenes.entries()) {
    const played = await Promise.race([ended, play(scene, index + 1)]);
    if (played === undefined) break;
    all.push(played);
    show(played);
  }
  return all;
}

function isGood(played: readonly Played[]): boolean {
  return played.length === scenes.length && played.every(({ wrong }) => wrong.length === 0);
}

function formatSummary(demo: Demo, played: readonly Played[]): string[] {
  const good = played.filter(({ wrong }) => wrong.length === 0).length;
  return [...formatSum(sumUp(demo)), formatScore(good, scenes.length)];
}

function describeResults(demo: Demo, played: readonly Played[]): object {
  const { url, statusUrl, metricsUrl, simulator } = demo;
  return {
    ok: isGood(played),
    addresses: { url, statusUrl, metricsUrl, baseUrl: simulator.apiUrl, authUrl: simulator.loginUrl },
    scenes: played.map(({ number, scene, wrong, ...rest }) => ({
      number,
      title: scene.title,
      ok: wrong.length === 0,
      wrong,
      sent: scene.request,
      ...rest,
    })),
    sum: sumUp(demo),
  };
}

function printLines(lines: readonly string[]): void {
  for (const line of lines) print(line);
}
