import type { Config } from "../../config/config.ts";
import type { Problem } from "../../config/diagnostics.ts";
import type { Clock } from "../../model/clock.ts";
import { within } from "../../oauth/within.ts";
import type { Check, Finding } from "./check.ts";

/** One run of the doctor: what it looks at, and until when. */
export interface Run {
  readonly file: string;
  readonly config: Config;
  readonly warnings: readonly Problem[];
  /** Whether a token may be asked for. */
  readonly withToken: boolean;
  readonly clock: Clock;
  /** The end of all patience (monotonic). */
  readonly endsAtMs: number;
}

/** A doctor who has not come back by then is no help; kubectl and whoever waits have their own deadlines. */
export const visitMs = 28_000;

/** The limit, or what is left of the visit. */
export function patienceMs({ clock, endsAtMs }: Run, limitMs: number): number {
  return Math.min(limitMs, endsAtMs - clock.nowMs());
}

/** What the promise brings; undefined when it takes longer than the limit, or than the visit. The promise goes on. */
export function patiently<Value>(visit: Run, promise: Promise<Value>, limitMs: number): Promise<Value | undefined> {
  return within(visit.clock, promise, patienceMs(visit, limitMs));
}

/** Names what a finding is about, and adds what it took. */
export async function timed(
  { clock }: Run,
  about: Pick<Check, "topic" | "subject" | "environment">,
  find: () => Promise<Finding>,
): Promise<Check> {
  const sinceMs = clock.nowMs();
  const finding = await find();
  return { ...about, ...finding, tookMs: Math.round(clock.nowMs() - sinceMs) };
}
