import { paint, print } from "../../src/cli/terminal.ts";
import { listenForInterrupt } from "../../testkit/interrupt.ts";
import { runCommand } from "../command-line.ts";
import { fuzz, type Progress } from "./fuzz.ts";
import { readCase } from "./input.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { openStage, type Stage } from "./stage.ts";

// `npm run fuzz`: see options.ts for what may be asked, generate.ts for what is sent, judge.ts and judge-upstream.ts for
// what must not happen.

const progressEveryMs = 3_000;

process.exitCode = await runCommand(readOptions, usage, run);
process.exit();

async function run(options: Options): Promise<number> {
  const interrupt = listenForInterrupt();
  const stage = await openStage();
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
    mostMs: seconds * 1_000,
    interrupt,
    onProgress(now) {
      if (performance.now() - shownMs < progressEveryMs) return;
      shownMs = performance.now();
      print(formatProgress(now, elapsed()));
    },
  });
  if (interrupt.aborted) print(`Ended by ${interrupt.reason} before its time.`);
  print(formatSummary(progress, elapsed(), seed));
  return progress.finding === undefined ? 0 : 1;
}

async function replay(stage: Stage, file: string): Promise<number> {
  const { why, inputs } = readCase(file);
  print(why);
  const { played, broken } = await stage.play(inputs);
  for (const { transcript } of played) print(`${transcript.end}: ${JSON.stringify(transcript.received.slice(0, 600))}`);
  for (const { oracle, seen } of broken) print(`${oracle}: ${seen}`);
  print(broken.length === 0 ? "No promise was broken." : "");
  return broken.length === 0 ? 0 : 1;
}

function formatProgress({ inputs, sent }: Progress, seconds: number): string {
  const perSecond = Math.round(inputs / seconds);
  return `${seconds.toFixed(0).padStart(5)} s ${inputs} inputs, ${perSecond}/s, ${sent} sent upstream`;
}

function formatSummary(progress: Progress, seconds: number, seed: number): string {
  const { finding, statuses } = progress;
  const answers = [...statuses].sort(([a], [b]) => a - b).map(([status, times]) => `${status || "none"} ${times}`);
  const end =
    finding === undefined
      ? paint("green", "No promise was broken.")
      : `${paint("red", "FOUND")} ${finding.why}\n      again: npm run fuzz -- --replay ${finding.file}`;
  return [formatProgress(progress, seconds), `answers: ${answers.join(", ")}`, end, `--seed ${seed} repeats it.`].join(
    "\n",
  );
}
