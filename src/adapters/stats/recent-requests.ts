import type { RequestFinished } from "../../model/events.ts";
import { answerBuckets } from "./metrics.ts";
import { countBy, sumOf } from "./sums.ts";

/** The view covers so many steps of this length; the oldest goes when a new one begins. */
const stepMs = 10_000;
const steps = 30;

/** How many requests of a step succeeded (2xx or 3xx of the service), failed, or may have had an effect. */
export type RecentStep = Readonly<Record<"succeeded" | "failed" | "unknown", number>>;

/** How requests ended that are counted alike. */
export interface End extends Pick<RequestFinished, "by" | "status" | "outcome" | "code"> {
  readonly fate: keyof RecentStep;
}

/** Requests that did not succeed, of one kind. */
export interface RecentFailure extends Pick<RequestFinished, "by"> {
  /** The failure's code, or the status of the answer where it has none. */
  readonly what: string;
  readonly count: number;
}

export function describeEnd(
  by: End["by"],
  status: number,
  outcome: End["outcome"],
  code: End["code"],
  isUnknown: boolean,
): End {
  // An answer of 4xx is a failure for whoever waits for the order.
  const fate = by === "service" && status < 400 && code === undefined ? "succeeded" : "failed";
  return { by, status, outcome, code, fate: isUnknown ? "unknown" : fate };
}

interface Step {
  /** Monotonic. */
  readonly startMs: number;
  /** When its first request ended. */
  readonly firstMs: number;
  readonly ends: Map<End, number>;
  /** By the bucket of their duration. */
  readonly durations: number[];
}

/** How the requests of one environment ended in the last five minutes. */
export class RecentRequests {
  #steps: Step[] = [];

  /**
   * @param end one object for all requests that end alike
   * @param bucket of its duration, among `answerBuckets`
   * @param nowMs monotonic
   */
  add(end: End, bucket: number, nowMs: number): void {
    const { ends, durations } = this.#stepAt(nowMs);
    ends.set(end, (ends.get(end) ?? 0) + 1);
    durations[bucket] = (durations[bucket] ?? 0) + 1;
  }

  clear(): void {
    this.#steps = [];
  }

  /** @param nowMs monotonic */
  view(nowMs: number) {
    this.#forget(nowMs);
    const all = this.#steps.flatMap(({ ends }) => [...ends]);
    const requests = sumOf(all, ([, count]) => count);
    const durations = answerBuckets
      .concat(0)
      .map((_, index) => sumOf(this.#steps, (step) => step.durations[index] ?? 0));
    const passedMs = nowMs - (this.#steps[0]?.firstMs ?? nowMs);
    return {
      /** How far it looks back. */
      seconds: (stepMs * steps) / 1_000,
      requests,
      /** Since the first of these requests ended. */
      perSecond: (requests * 1_000) / Math.max(passedMs, 1_000),
      /** Half of the requests took no longer than this bound. */
      medianMs: quantileMs(durations, 0.5),
      p95Ms: quantileMs(durations, 0.95),
      failures: countFailures(all),
      steps: this.#viewSteps(nowMs),
    };
  }

  /** Steps without a request too, so that each has its place. */
  #viewSteps(nowMs: number): RecentStep[] {
    const lastMs = startOf(nowMs);
    return Array.from({ length: steps }, (_, index) => {
      const startMs = lastMs - (steps - 1 - index) * stepMs;
      const ends = [...(this.#steps.find((step) => step.startMs === startMs)?.ends ?? [])];
      const of = (fate: keyof RecentStep) => sumOf(ends, ([end, count]) => (end.fate === fate ? count : 0));
      return { succeeded: of("succeeded"), failed: of("failed"), unknown: of("unknown") };
    });
  }

  #stepAt(nowMs: number): Step {
    const startMs = startOf(nowMs);
    const last = this.#steps.at(-1);
    if (last?.startMs === startMs) return last;
    this.#forget(nowMs);
    const step = { startMs, firstMs: nowMs, ends: new Map(), durations: [] };
    this.#steps.push(step);
    return step;
  }

  #forget(nowMs: number): void {
    this.#steps = this.#steps.filter(({ startMs }) => startMs > startOf(nowMs) - stepMs * steps);
  }
}

function startOf(nowMs: number): number {
  return Math.floor(nowMs / stepMs) * stepMs;
}

type Counted = readonly (readonly [end: End, count: number])[];

/** The commonest first. */
function countFailures(all: Counted): readonly RecentFailure[] {
  const failed = all.filter(([{ fate }]) => fate !== "succeeded");
  const nameOf = ([{ by, code, status }]: Counted[number]) => `${by} ${code ?? status}`;
  return Object.entries(countBy(failed, nameOf, ([, count]) => count))
    .map(([key, count]) => {
      const [by, what = ""] = key.split(" ");
      return { by: by === "service" ? by : "countersign", what, count } as const;
    })
    .sort((one, other) => other.count - one.count);
}

/** The bound that this share of durations does not exceed; undefined without any, or beyond the last bound. */
function quantileMs(durations: readonly number[], share: number): number | undefined {
  const wanted = sumOf(durations, (count) => count) * share;
  if (wanted === 0) return undefined;
  let seen = 0;
  const seconds =
    answerBuckets[
      durations.findIndex((count) => {
        seen += count;
        return seen >= wanted;
      })
    ];
  return seconds && seconds * 1_000;
}
