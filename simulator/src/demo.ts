import { Command } from "commander";
import { exampleOf, exitCodes, usageFailure } from "countersign/cli/command";
import { untilStopped } from "countersign/cli/run-program";
import { print, printJson } from "countersign/cli/terminal";
import { type Demo, openDemo } from "./demo/env.ts";
import {
  formatInvitation,
  formatOpening,
  formatPrompt,
  formatScore,
  formatSum,
  formatTitle,
  sumUp,
} from "./demo/header.ts";
import { endAsHungUp, Keyboard } from "./demo/keyboard.ts";
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
    .description("Show Countersign at work: simulator and proxy on this machine.")
    .option("--folder <folder>", "put configuration, secrets and log into this new folder, removed at the end")
    .option(
      "--once",
      "show all scenes without waiting for a key, and end; exit code 0 only if all did what they should",
    )
    .option("--json", "print the results as JSON; only with --once")
    .addHelpText(...exampleOf("countersign demo --once"))
    .action(demonstrate);
}

async function demonstrate({ folder, once = false, json = false }: Options): Promise<void> {
  if (json && !once) throw usageFailure("--json is for programs, which press no keys: add --once.");
  const stopped = untilStopped();
  if (!json) print(formatTitle());
  const demo = await openDemo(usualPorts, folder);
  const keyboard = once ? undefined : Keyboard.open(stopped);
  const ended = keyboard?.ended ?? stopped;
  const isWanted = (number: number) => keyboard?.next(formatPrompt(number)) ?? Promise.resolve(true);
  const isHungUp = () => keyboard?.isGone === true;
  const show = (lines: readonly string[]) => {
    if (!json && !isHungUp()) for (const line of lines) print(line);
  };
  let signal = "the end";
  try {
    if (!json) process.on("SIGHUP", () => (isHungUp() ? keyboard?.close() : readAgain(demo)));
    show(formatOpening(demo));
    const width = chooseWidth(process.stdout.columns);
    const results = await runAll(demo, ended, isWanted, (each) => show([...formatScene(each, width), ""]));
    const isWhole = results.length === scenes.length;
    if (!results.every(isGood) || (once && !isWhole)) process.exitCode = exitCodes.no;
    const goesOn = !once && isWhole && (await isWanted(scenes.length + 1));
    if (json) printJson(describeResults(demo, results));
    else show([...formatSum(sumUp(demo)), formatScore(results.filter(isGood).length, results.length)]);
    if (!goesOn) return;
    show(["", ...formatInvitation(demo)]);
    signal = await ended;
    show(["", "", ...formatSum(sumUp(demo))]);
  } finally {
    keyboard?.close();
    await demo.close(signal);
    if (isHungUp()) endAsHungUp();
  }
}

/** The line is for the person who sent the signal. If a closed terminal sent it, the failed write ends the demo. */
function readAgain(demo: Demo): void {
  print("   SIGHUP: configuration and secrets are read again.");
  demo.reload();
}

/**
 * All scenes in order, or the scenes that were over when the demo ended.
 * @param isWanted waits for the key that shows the scene with this number; false: no more scenes
 */
async function runAll(
  demo: Demo,
  ended: Promise<unknown>,
  isWanted: (number: number) => Promise<boolean>,
  show: (result: SceneResult) => void,
): Promise<SceneResult[]> {
  const run = createRun(demo);
  const interrupted = ended.then(() => undefined);
  const all: SceneResult[] = [];
  for (const [index, scene] of scenes.entries()) {
    const number = index + 1;
    if (!(await isWanted(number))) break;
    const result = await Promise.race([interrupted, run(scene, number)]);
    if (result === undefined) break;
    all.push(result);
    show(result);
  }
  return all;
}

function isGood({ wrong }: SceneResult): boolean {
  return wrong.length === 0;
}

function describeResults(demo: Demo, results: readonly SceneResult[]): object {
  const { url, statusUrl, metricsUrl, simulator } = demo;
  return {
    ok: results.length === scenes.length && results.every(isGood),
    addresses: {
      url,
      statusUrl: `${statusUrl}/status`,
      metricsUrl,
      baseUrl: simulator.apiUrl,
      authUrl: simulator.loginUrl,
    },
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
