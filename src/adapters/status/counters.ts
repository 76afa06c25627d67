import { type RequestFinished, statusClass } from "../../model/events.ts";
import { type AnswerCounts, formatTime, type Occurrence, type RecentTraffic, type Tally } from "./snapshot.ts";

/** The counters of a key, which begin at 0 when they are first asked for. */
export function countersOf<Key, Counters>(all: Map<Key, Counters>, key: Key, Empty: new () => Counters): Counters {
  const known = all.get(key);
  if (known !== undefined) return known;
  const empty = new Empty();
  all.set(key, empty);
  return empty;
}

/** How often each thing happened, and when last. */
export class Occurrences {
  readonly #counters = new Map<string, { readonly count: number; readonly lastMs: number }>();

  /** @param lastMs by the wall clock */
  add(what: string, lastMs: number): void {
    this.#counters.set(what, { count: (this.#counters.get(what)?.count ?? 0) + 1, lastMs });
  }

  /** Times are written out when they are looked at. */
  view(): Record<string, Occurrence> {
    const entries = [...this.#counters].map(([what, { count, lastMs }]) => [
      what,
      { count, lastAt: formatTime(lastMs) },
    ]);
    return Object.fromEntries(entries);
  }
}

/** How the requests of one site or caller ended. */
export class RequestCounters {
  readonly #answeredBy = { service: 0, countersign: 0 };
  #lastMs: number | undefined;
  readonly #failures = new Occurrences();
  readonly #refusals = new Occurrences();

  /** @param wallMs when it ended, by the wall clock */
  add({ by, code, status }: Pick<RequestFinished, "by" | "code" | "status">, wallMs: number): void {
    this.#answeredBy[by] += 1;
    this.#lastMs = wallMs;
    if (code !== undefined) this.#failures.add(code, wallMs);
    if (by === "service" && (status === 401 || status === 403)) this.#refusals.add(String(status), wallMs);
  }

  view(): Tally {
    return {
      answeredBy: { ...this.#answeredBy },
      lastAt: this.#lastMs === undefined ? undefined : formatTime(this.#lastMs),
      failures: this.#failures.view(),
      refusals: this.#refusals.view(),
    };
  }
}

/** `recent` covers so many steps of this length; the oldest goes when a new one begins. */
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
export class AnswerCounters {
  readonly #total: Counts = { service: {}, countersign: {} };
  #steps: Step[] = [];

  /** @param nowMs monotonic */
  add({ by, status, durationMs }: Pick<RequestFinished, "by" | "status" | "durationMs">, nowMs: number): void {
    const { counts, durations } = this.#stepAt(nowMs);
    const name = statusClass(status);
    addTo(this.#total[by], name, 1);
    addTo(counts[by], name, 1);
    let bucket = 0;
    while (bucket < boundsMs.length && durationMs > (boundsMs[bucket] ?? 0)) bucket += 1;
    durations[bucket] = (durations[bucket] ?? 0) + 1;
  }

  total(): AnswerCounts {
    return structuredClone(this.#total);
  }

  recent(nowMs: number): RecentTraffic {
    this.#forget(nowMs);
    const { counts, durations } = this.#steps.reduce(merge, emptyStep(nowMs));
    const requests = durations.reduce((sum, count) => sum + count, 0);
    const seconds = (stepMs * steps) / 1_000;
    const quantiles = { medianMs: quantile(durations, 0.5), p95Ms: quantile(durations, 0.95) };
    return { seconds, requests, perSecond: requests / seconds, ...quantiles, answers: counts };
  }

  #stepAt(nowMs: number): Step {
    const startMs = Math.floor(nowMs / stepMs) * stepMs;
    const last = this.#steps.at(-1);
    if (last?.startMs === startMs) return last;
    this.#forget(nowMs);
    const step = emptyStep(startMs);
    this.#steps.push(step);
    return step;
  }

  #forget(nowMs: number): void {
    this.#steps = this.#steps.filter(({ startMs }) => startMs > nowMs - stepMs * steps);
  }
}

function emptyStep(startMs: number): Step {
  const durations = Array<number>(boundsMs.length + 1).fill(0);
  return { startMs, counts: { service: {}, countersign: {} }, durations };
}

/** Adds a step to a sum, which it returns. */
function merge(sum: Step, { counts, durations }: Step): Step {
  for (const by of ["service", "countersign"] as const) {
    for (const [name, count] of Object.entries(counts[by])) addTo(sum.counts[by], name, count);
  }
  for (const [index, count] of durations.entries()) sum.durations[index] = (sum.durations[index] ?? 0) + count;
  return sum;
}

function addTo(counts: Record<string, number>, name: string, count: number): void {
  counts[name] = (counts[name] ?? 0) + count;
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
