import { paint } from "../terminal.ts";
import type { Check, Verdict } from "./check.ts";

const words: Readonly<Record<Verdict, string>> = { ok: "ok", warn: "warn", fail: "fail", skipped: "skip" };
const styles = { ok: "green", warn: "yellow", fail: "red", skipped: "dim" } as const;

const indent = 6;

/**
 * A line for people, and below it what to do.
 * @param environmentWidth of the longest environment's name
 */
export function formatCheck(check: Check, environmentWidth: number): string {
  const { topic, environment = "", subject, verdict, detail, fix, tookMs } = check;
  const word = paint(styles[verdict], words[verdict].padEnd(indent));
  const took = tookMs > 0 ? ` (${tookMs} ms)` : "";
  const line = `${word}${topic.padEnd(8)}${environment.padEnd(environmentWidth + 2)}${subject}: ${detail}${took}`;
  return fix === undefined ? line : `${line}\n${" ".repeat(indent)}fix: ${fix}`;
}

export type Sum = Readonly<Record<Verdict, number>>;

export function sumUp(checks: readonly Check[]): Sum {
  const count = (wanted: Verdict) => checks.filter(({ verdict }) => verdict === wanted).length;
  return { ok: count("ok"), warn: count("warn"), fail: count("fail"), skipped: count("skipped") };
}

export function formatSum({ ok, warn, fail, skipped }: Sum): string {
  const verdict = fail > 0 ? paint("red", "Something has to be fixed") : paint("green", "Nothing stands in the way");
  return `${verdict}: ${ok} ok, ${warn} to be warned of, ${fail} failed, ${skipped} skipped.`;
}
