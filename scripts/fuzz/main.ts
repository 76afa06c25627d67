import { print } from "../../src/cli/terminal.ts";
import { listenForInterrupt } from "../../testkit/interrupt.ts";
import { runCommand } from "../command-line.ts";
import { readCase } from "./cases.ts";
import { fuzz, type Progress } from "./fuzz.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { formatFinding, formatProgress, formatSummary } from "./report.ts";
import { Stage } from "./stage.ts";

// `npm run fuzz`: see options.ts for what may be asked, generate.ts for what is sent, judge.ts and judge-upstream.ts for
// what must not happen.

const progressEveryMs = 3_000;

process.exitCode = await runCommand(readOptions, usage, run);
process.exit();

async function run(options: Options): Promise<number> {
  const interrupt = listenForInterrupt();
  const stage = await Stage.open();
  try {
    return options.replay === undefined ? await play(stage, options, interrupt) : await replay(stage, options.replay);
  } finally {
    await stage.close();
  }
}

async function play(stage: Stage, { seed, seconds }: Options, interrupt: AbortSignal): Promise<number> {
  print(`${seconds} s of requests by chance, --seed ${seed}`);
  const startedMs = performance.now();
  const elapsed = () => (performance.now() - startedMs) / 1_000;
  let shownMs = startedMs;
  const progress = await fuzz(stage, {
    seed,
    isOver: () => elapsed() >= seconds || interrupt.aborted,
    isInterrupted: () => interrupt.aborted,
    onFinding: (finding) => print(formatFinding(finding)),
    onProgress(now: Progress) {
      if (performance.now() - shownMs < progressEveryMs) return;
      shownMs = performance.now();
      print(formatProgress(now, elapsed()));
    },
  });
  if (interrupt.aborted) print(`Ended by ${interrupt.reason} before its time.`);
  print(formatSummary(progress, elapsed(), seed));
  return progress.findings.length === 0 ? 0 : 1;
}

async function replay(stage: Stage, file: string): Promise<number> {
  const { why, inputs } = readCase(file);
  print(why);
  const { played, blamed } = await stage.play(inputs);
  for (const { transcript } of played) print(`${transcript.end}: ${JSON.stringify(transcript.received.slice(0, 600))}`);
  for (const { oracle, seen } of blamed) print(`${oracle}: ${seen}`);
  print(blamed.length === 0 ? "No promise was broken." : "");
  return blamed.length === 0 ? 0 : 1;
}
