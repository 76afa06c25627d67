import type { Environment } from "../../model/environment.ts";
import type { RequestFinished } from "../../model/events.ts";
import { formatTime } from "./format-time.ts";
import type { Occurrence, Tally } from "./snapshot.ts";

/** Counted at every request, so it is changed in place and its times are formatted only when somebody looks. */
interface Counted {
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
export class Counters {
  #counted = new Map<string, Counted>();

  /** Sites that stay keep their counts; new ones begin at 0, others go. */
  follow(environments: readonly Environment[]): void {
    const keys = environments.flatMap(({ name, sites }) => [keyOf(name), ...[...sites.keys()].map(keyIn(name))]);
    this.#counted = new Map(keys.map((key) => [key, this.#counted.get(key) ?? countNothing()]));
  }

  add({ environment, site, by, code, status }: RequestFinished, wallMs: number): void {
    const counted = this.#counted.get(keyOf(environment, site));
    if (counted === undefined) return;
    counted.answeredBy[by] += 1;
    counted.lastMs = wallMs;
    if (code !== undefined) countOnce(counted.failures, code, wallMs);
    if (by === "service" && (status === 401 || status === 403)) countOnce(counted.refusals, String(status), wallMs);
  }

  of(environment: string, site: string | undefined): Tally {
    const { answeredBy, lastMs, failures, refusals } = this.#counted.get(keyOf(environment, site)) ?? countNothing();
    return {
      answeredBy: { ...answeredBy },
      lastAt: lastMs === undefined ? undefined : formatTime(lastMs),
      failures: viewTimes(failures),
      refusals: viewTimes(refusals),
    };
  }
}

function countNothing(): Counted {
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

const keyIn = (environment: string) => (site: string) => keyOf(environment, site);

function keyOf(environment: string, site?: string): string {
  return site === undefined ? environment : `${environment} ${site}`;
}
