import type { RequestFinished } from "../../model/events.ts";
import { formatTime, type Occurrence, type Tally } from "./snapshot.ts";

interface Counter {
  count: number;
  /** By the wall clock. */
  lastMs: number;
}

/** How the requests of one site ended. Times are written out when they are looked at. */
export class SiteCounters {
  readonly #answeredBy = { service: 0, countersign: 0 };
  #lastMs: number | undefined;
  readonly #failures = new Map<string, Counter>();
  readonly #refusals = new Map<string, Counter>();

  /** @param wallMs when it ended, by the wall clock */
  add({ by, code, status }: Pick<RequestFinished, "by" | "code" | "status">, wallMs: number): void {
    this.#answeredBy[by] += 1;
    this.#lastMs = wallMs;
    if (code !== undefined) addOne(this.#failures, code, wallMs);
    if (by === "service" && (status === 401 || status === 403)) addOne(this.#refusals, String(status), wallMs);
  }

  view(): Tally {
    return {
      answeredBy: { ...this.#answeredBy },
      lastAt: this.#lastMs === undefined ? undefined : formatTime(this.#lastMs),
      failures: viewEach(this.#failures),
      refusals: viewEach(this.#refusals),
    };
  }
}

function addOne(counters: Map<string, Counter>, what: string, lastMs: number): void {
  counters.set(what, { count: (counters.get(what)?.count ?? 0) + 1, lastMs });
}

function viewEach(counters: ReadonlyMap<string, Counter>): Record<string, Occurrence> {
  const entries = [...counters].map(([what, { count, lastMs }]) => [what, { count, lastAt: formatTime(lastMs) }]);
  return Object.fromEntries(entries);
}
