import { paint, print, printError } from "../../src/cli/terminal.ts";
import { listenForInterrupt } from "../../testkit/interrupt.ts";
import { runCommand } from "../command-line.ts";
import { Screen } from "../screen.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { openStage, Refusal, type Stage } from "./stage.ts";
import { tell, type Verdict } from "./story.ts";

// `npm run demo:fleet`: a fleet over one Redis, with everything going wrong that docs/fleet-demo.md names, and an account
// of it. See options.ts for what may be asked, chapters.ts for the story.

process.exitCode = await runCommand(readOptions, usage, run);
process.exit();

async function run(options: Options): Promise<number> {
  // The reader of our output has seen enough, as `head` has. Whatever was started is killed on exit.
  process.stdout.on("error", () => process.exit(1));
  const interrupt = listenForInterrupt();
  const stopped = new Promise<string>((resolve) => {
    interrupt.addEventListener("abort", () => resolve(interrupt.reason));
  });
  const screen = new Screen();
  const opening = openStage(options, screen);
  try {
    const stage = await Promise.race([opening, stopped]);
    return typeof stage === "string" ? sayStopped(stage) : await play(stage, screen, stopped);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    printError(error.message);
    return 1;
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
