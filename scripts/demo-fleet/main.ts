import { paint, print, printError } from "../../src/cli/terminal.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { Refusal } from "./refusal.ts";
import { Screen } from "./screen.ts";
import { openStage, type Stage } from "./stage.ts";
import { tell, type Verdict } from "./story.ts";

// `npm run demo:fleet`: a fleet over one Redis, with everything going wrong that the README speaks of, and an account
// of it. See options.ts for what may be asked, chapters.ts for the story.

/** tsx passes on a signal that the terminal has sent as well: twice at once is not asked twice. */
const sameMs = 500;

process.exitCode = await run();
process.exit();

async function run(): Promise<number> {
  // The reader of our output has seen enough, as `head` has. Whatever was started is killed on exit.
  process.stdout.on("error", () => process.exit(1));
  const stopped = untilStopped();
  let options: Options | undefined;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    return refuse(error, 2);
  }
  if (options === undefined) {
    print(usage);
    return 0;
  }
  const screen = new Screen();
  const opening = openStage(options, screen);
  try {
    const stage = await Promise.race([opening, stopped]);
    return typeof stage === "string" ? sayStopped(stage) : await play(stage, screen, stopped);
  } catch (error) {
    return refuse(error, 1);
  }
}

async function play(stage: Stage, screen: Screen, stopped: Promise<string>): Promise<number> {
  let verdict: Verdict | string;
  try {
    verdict = await Promise.race([tell(stage), stopped]);
  } finally {
    screen.close();
    await stage.close();
  }
  return typeof verdict === "string" ? sayStopped(verdict) : sayVerdict(verdict);
}

function sayVerdict({ judged, broken, slowAnswers }: Verdict): number {
  if (broken.length === 0) {
    print(`   ${paint("green", `All ${judged} promises were kept.`)}`);
    return 0;
  }
  print(paint("red", `   Broken promises: ${broken.length}`));
  for (const each of broken) print(`   ${each}`);
  if (slowAnswers > 0) {
    print(`\n   Redis did not answer a replica in time, ${slowAnswers} times: is this machine busy?`);
    print("   A replica that hears nothing from Redis goes ahead alone, which may cost a");
    print("   token. Try again when it is quieter.");
  }
  return 1;
}

function sayStopped(signal: string): number {
  print(`\n   Ended by ${signal} before its end, so nothing is proved. All that it started is ended.`);
  return 1;
}

function refuse(error: unknown, exitCode: number): number {
  if (!(error instanceof Refusal)) throw error;
  printError(error.message);
  return exitCode;
}

/** The signal that asks for the end. A second one ends it at once; what was started is killed then. */
function untilStopped(): Promise<string> {
  return new Promise((resolve) => {
    let askedMs: number | undefined;
    const ask = (signal: NodeJS.Signals) => {
      const nowMs = performance.now();
      if (askedMs !== undefined && nowMs - askedMs > sameMs) process.exit(1);
      askedMs ??= nowMs;
      resolve(signal);
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, ask);
  });
}
