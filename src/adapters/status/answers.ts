import type { RequestFinished } from "../../model/events.ts";
import { statusClass } from "../../model/status-class.ts";
import type { AnswerCounts, RecentTraffic } from "./snapshot.ts";

/** What `recent` looks back on, in steps that are forgotten one by one. */
const stepMs = 10_000;
const steps = 30;
/** Upper bounds of durations, as the metrics have them. */
const boundsMs = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 20_000, 30_000];

interface Step {
  readonly startMs: number;
  readonly counts: Counts;
  /** By the first bound that a duration does not exceed; the last is beyond all. */
  readonly durations: number[];
}

type Counts = Record<RequestFinished["by"], Record<string, number>>;

/** Answers of one environment by their class: since the start, and in the last five minutes. */
export class Answers {
  readonly #total = countNothing();
  #steps: Step[] = [];

  /** @param nowMs monotonic */
  add({ by, status, durationMs }: Pick<RequestFinished, "by" | "status" | "durationMs">, nowMs: number): void {
    const { counts, durations } = this.#stepAt(nowMs);
    const name = statusClass(status);
    for (const each of [this.#total, counts]) each[by][name] = (each[by][name] ?? 0) + 1;
    const index = boundsMs.findIndex((bound) => durationMs <= bound);
    const place = index === -1 ? boundsMs.length : index;
    durations[place] = (durations[place] ?? 0) + 1;
  }

  total(): AnswerCounts {
    return structuredClone(this.#total);
  }

  recent(nowMs: number): RecentTraffic {
    this.#forget(nowMs);
    const answers = countNothing();
    const durations = noDurations();
    for (const step of this.#steps) {
      for (const by of ["service", "countersign"] as const) {
        for (const [name, count] of Object.entries(step.counts[by]))
          answers[by][name] = (answers[by][name] ?? 0) + count;
      }
      for (const [index, count] of step.durations.entries()) durations[index] = (durations[index] ?? 0) + count;
    }
    const requests = durations.reduce((sum, count) => sum + count, 0);
    const seconds = (stepMs * steps) / 1_000;
    const quantiles = { medianMs: quantile(durations, 0.5), p95Ms: quantile(durations, 0.95) };
    return { seconds, requests, perSecond: requests / seconds, ...quantiles, answers };
  }

  #stepAt(nowMs: number): Step {
    const startMs = Math.floor(nowMs / stepMs) * stepMs;
    const last = this.#steps.at(-1);
    if (last?.startMs === startMs) return last;
    this.#forget(nowMs);
    const step = { startMs, counts: countNothing(), durations: noDurations() };
    this.#steps.push(step);
    return step;
  }

  #forget(nowMs: number): void {
    this.#steps = this.#steps.filter(({ startMs }) => startMs > nowMs - stepMs * steps);
  }
}

function countNothing(): Counts {
  return { service: {}, countersign: {} };
}

function noDurations(): number[] {
  return Array<number>(boundsMs.length + 1).fill(0);
}

/** The bound that this share of durations does not exceed; undefined without any, or beyond the last bound. */
function quantile(durations: readonly number[], share: number): number | undefined {
  const wanted = durations.reduce((sum, count) => sum + count, 0) * share;
  if (wanted === 0) return undefined;
  let seen = 0;
  const index = durations.findIndex((count) => {
    seen += count;
    return seen >= wanted;
  });
  return boundsMs[index];
}
