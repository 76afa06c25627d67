import { print, printError, printJson } from "../../src/cli/terminal.ts";
import { listenForInterrupt } from "../../testkit/interrupt.ts";
import { runCommand } from "../command-line.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { describeAll, formatHead, formatRound, formatSum, formatTime, legend } from "./report.ts";
import { Screen } from "./screen.ts";
import { soak } from "./soak.ts";
import { openStage, type Stage } from "./stage.ts";
import { judge } from "./verdict.ts";

// `npm run soak`: options.ts has the options, faults.ts the faults, verdict.ts the promises.

const statusEveryMs = 500;

process.exitCode = await runCommand(readOptions, usage, run);
process.exit();

async function run(options: Options): Promise<number> {
  process.stdout.on("error", () => process.exit(1));
  const interrupt = listenForInterrupt();
  const { seed, rate, everyMs, json } = options;
  const screen = new Screen();
  const say = json ? () => {} : (text: string) => screen.line(text);
  say(`${rate} orders a second, a fault every ${everyMs / 1_000} s, --seed ${seed}\n${legend}\n\n${formatHead()}`);
  const stage = await openStage(options).catch((error: Error) => printError(error.message));
  if (stage === undefined) return 1;
  const startedMs = performance.now();
  const timer = setInterval(() => screen.status(json ? "" : formatStatus(stage, startedMs)), statusEveryMs);
  try {
    const findings = await soak(stage, options, interrupt, (played) => say(formatRound(played, startedMs)));
    screen.close();
    const promises = judge(findings, options.patience);
    if (json) printJson(describeAll(options, findings, promises));
    else print(formatSum(findings, promises, startedMs));
    if (interrupt.aborted && !json) print(`Ended by ${interrupt.reason} before its time.`);
    return promises.every(({ isKept }) => isKept) ? 0 : 1;
  } finally {
    clearInterval(timer);
    screen.close();
    await stage.close();
  }
}

function formatStatus({ account, ledger, fleet }: Stage, startedMs: number): string {
  const round = account.rounds.at(-1);
  const what = round === undefined ? "warming up" : Number.isFinite(round.endedMs) ? "calm" : round.fault.name;
  const names = fleet.replicas.map(({ name }) => name).join(" ");
  return `${formatTime(performance.now() - startedMs)}  ${ledger.sent} orders through ${names} … ${what}`;
}
