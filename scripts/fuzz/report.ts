import { paint } from "../../src/cli/terminal.ts";
import type { Finding } from "./findings.ts";
import type { Progress } from "./fuzz.ts";

export function formatProgress({ inputs, sent, findings }: Progress, seconds: number): string {
  const perSecond = Math.round(inputs / seconds);
  return `${seconds.toFixed(0).padStart(5)} s ${count(inputs, "input")}, ${perSecond}/s, ${sent} sent upstream, ${count(findings.length, "finding")}`;
}

export function formatFinding({ why, inputs, file }: Finding): string {
  const what = inputs.length === 1 ? "" : ` (${inputs.length} connections together)`;
  return `${paint("red", "FOUND")} ${why}${what}\n      again: npm run fuzz -- --replay ${file}`;
}

export function formatSummary(progress: Progress, seconds: number, seed: number): string {
  const { findings, broken, statuses } = progress;
  const answers = [...statuses].sort(([a], [b]) => a - b).map(([status, times]) => `${status || "none"} ${times}`);
  const end =
    findings.length === 0
      ? paint("green", "No promise was broken.")
      : paint("red", `${count(broken, "broken promise")}, ${count(findings.length, "finding")} kept.`);
  return [formatProgress(progress, seconds), `answers: ${answers.join(", ")}`, end, `--seed ${seed} repeats it.`].join(
    "\n",
  );
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
