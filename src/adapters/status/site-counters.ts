import type { Environment } from "../../model/environment.ts";
import type { RequestFinished } from "../../model/events.ts";
import { formatTime, type Occurrence, type Tally } from "./snapshot.ts";

/** Changed in place at every request; its times are formatted only when they are shown. */
interface Counts {
  readonly answeredBy: Record<RequestFinished["by"], number>;
  lastMs: number | undefined;
  readonly failures: Map<string, Times>;
  readonly refusals: Map<string, Times>;
}

interface Times {
  readonly count: number;
  readonly lastMs: number;
}

/** What became of the requests of each site, and of those whose site was never known. Bounded by the configuration. */
export class SiteCounters {
  #counts = new Map<string, Counts>();

  /** Forgets the sites that are not configured. */
  keepOnly(environments: readonly Environment[]): void {
    const wanted = new Set(
      environments.flatMap(({ name, sites }) => [keyOf(name), ...[...sites.keys()].map((site) => keyOf(name, site))]),
    );
    this.#counts = new Map([...this.#counts].filter(([key]) => wanted.has(key)));
  }

  add({ environment, site, by, code, status }: RequestFinished, wallMs: number): void {
    const counts = this.#counts.get(keyOf(environment, site)) ?? noCounts();
    this.#counts.set(keyOf(environment, site), counts);
    counts.answeredBy[by] += 1;
    counts.lastMs = wallMs;
    if (code !== undefined) countOnce(counts.failures, code, wallMs);
    if (by === "service" && (status === 401 || status === 403)) countOnce(counts.refusals, String(status), wallMs);
  }

  of(environment: string, site?: string): Tally {
    const { answeredBy, lastMs, failures, refusals } = this.#counts.get(keyOf(environment, site)) ?? noCounts();
    return {
      answeredBy: { ...answeredBy },
      lastAt: lastMs === undefined ? undefined : formatTime(lastMs),
      failures: viewTimes(failures),
      refusals: viewTimes(refusals),
    };
  }
}

function noCounts(): Counts {
  return { answeredBy: { service: 0, countersign: 0 }, lastMs: undefined, failures: new Map(), refusals: new Map() };
}

function countOnce(times: Map<string, Times>, what: string, lastMs: number): void {
  times.set(what, { count: (times.get(what)?.count ?? 0) + 1, lastMs });
}

function viewTimes(times: ReadonlyMap<string, Times>): Record<string, Occurrence> {
  return Object.fromEntries(
    [...times].map(([what, { count, lastMs }]) => [what, { count, lastAt: formatTime(lastMs) }]),
  );
}

function keyOf(environment: string, site?: string): string {
  return site === undefined ? environment : `${environment} ${site}`;
}
