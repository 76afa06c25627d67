import { Command } from "commander";
import { loadConfig } from "../config/load.ts";
import { systemClock } from "../model/clock.ts";
import { exitCodes } from "./command.ts";
import { configOption } from "./config-option.ts";
import type { Check } from "./doctor/check.ts";
import { examine } from "./doctor/examine.ts";
import { boundLookUps } from "./doctor/look-up.ts";
import { formatCheck, formatSum, sumUp } from "./doctor/print-check.ts";
import { type Run, visitMs } from "./doctor/run.ts";
import { loadOrRefuse } from "./load.ts";
import { print, printJson } from "./terminal.ts";

interface Options {
  readonly config: string;
  readonly token: boolean;
  readonly json?: boolean;
}

export function createCommand(): Command {
  return new Command("doctor")
    .description(
      "Examine what requests rest on: files, DNS, TLS, clock, token, Redis. Each is ok, or comes with its fix.",
    )
    .addOption(configOption())
    .option("--no-token", "ask for no token; one in the shared cache is looked at all the same")
    .option("--json", "print the result as JSON")
    .addHelpText("after", harmless)
    .action(doctor);
}

const harmless = `
It sends no order. Each host gets one HEAD / without credentials, for its Date. The authorization server is asked for a token only for
credential sets that have none in the shared cache, and what it issues goes there. In Redis, probe keys under countersign: are
written, and removed at once. It needs neither a shell nor other programs, and ends within 30 s:

  kubectl exec POD -c countersign -- node /app/dist/main.js doctor

Exit code 0: nothing failed. 1: something did. 2: the configuration is refused.
`;

async function doctor(options: Options): Promise<void> {
  const { config: file, token: withToken, json = false } = options;
  if (json && (await refuseAsJson(file))) return;
  const loaded = await loadOrRefuse(file);
  const visit: Run = { file, ...loaded, withToken, clock: systemClock, endsAtMs: systemClock.nowMs() + visitMs };
  boundLookUps(loaded.config.timeouts.connectMs);
  const width = Math.max(...[...loaded.config.environments.keys()].map((name) => name.length));
  const checks: Check[] = [];
  for await (const check of examine(visit)) {
    checks.push(check);
    if (!json) print(formatCheck(check, width));
  }
  const sum = sumUp(checks);
  const isWell = sum.fail === 0;
  if (json) printJson({ ok: isWell, sum, configHash: loaded.config.hash, checks });
  else print(`\n${formatSum(sum)}`);
  process.exitCode = isWell ? exitCodes.ok : exitCodes.no;
  endSoon();
}

async function refuseAsJson(file: string): Promise<boolean> {
  const loaded = await loadConfig(file);
  if (loaded.kind === "loaded") return false;
  printJson({ ok: false, problems: loaded.problems });
  process.exitCode = exitCodes.usage;
  return true;
}

/** What was given up on keeps nobody waiting. */
function endSoon(): void {
  systemClock.after(0, () => process.exit());
}
