import { print, printError, printJson } from "../../src/cli/terminal.ts";
import { listenForInterrupt } from "../../testkit/interrupt.ts";
import { runCommand } from "../command-line.ts";
import { Screen } from "../demo-fleet/screen.ts";
import type { Findings } from "./findings.ts";
import { type Options, readOptions, usage } from "./options.ts";
import {
  formatDisagreement,
  formatGrowth,
  formatHead,
  formatKept,
  formatRound,
  formatStall,
  formatTime,
  formatUnexplained,
  legend,
} from "./report.ts";
import { describeAll } from "./report-json.ts";
import { soak } from "./soak.ts";
import { openStage, type Stage } from "./stage.ts";
import { judge } from "./verdict.ts";

// `npm run soak`: see options.ts for what may be asked, schedule.ts for what goes wrong, verdict.ts for what is judged.

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
    const isKept = sumUp(stage, findings, options, startedMs);
    if (interrupt.aborted && !json) print(`Ended by ${interrupt.reason} before its time.`);
    return isKept ? 0 : 1;
  } finally {
    clearInterval(timer);
    screen.close();
    await stage.close();
  }
}

function sumUp({ account, ledger }: Stage, findings: Findings, options: Options, startedMs: number): boolean {
  const promises = judge(findings, options.patience);
  const isKept = promises.every((each) => each.isKept);
  if (options.json) {
    printJson(describeAll(options, findings, promises, account.kept, ledger.disagreements));
    return isKept;
  }
  const lines = [
    "",
    ...account.kept.map((one) => `UNEXPLAINED ${formatUnexplained(one, startedMs)}`),
    ...ledger.disagreements.map((one) => `DISAGREEMENT ${formatDisagreement(one)}`),
    `${findings.sent} orders in ${formatTime(findings.lastedMs)}`,
    ...[...findings.failures].map(([label, count]) => `${`${count}`.padStart(8)} ${label}`),
    ...findings.growths.map(formatGrowth),
    formatStall(findings),
    "",
    ...promises.map(formatKept),
  ];
  print(lines.join("\n"));
  return isKept;
}

function formatStatus({ account, ledger, fleet }: Stage, startedMs: number): string {
  const round = account.rounds.at(-1);
  const what = round === undefined ? "warming up" : Number.isFinite(round.endedMs) ? "calm" : round.fault.name;
  const names = fleet.replicas.map(({ name }) => name).join(" ");
  return `${formatTime(performance.now() - startedMs)}  ${ledger.sent} orders through ${names} … ${what}`;
}
