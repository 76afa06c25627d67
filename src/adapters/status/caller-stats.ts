import type { Caller } from "../../model/caller.ts";
import type { Clock } from "../../model/clock.ts";
import type { RequestFinished } from "../../model/events.ts";
import { countersOf, RequestCounters } from "./counters.ts";
import type { CallerStatus } from "./snapshot.ts";

/** A caller where the active configuration has it. */
export interface ConfiguredCaller extends Caller {
  readonly environment: string;
  /** As configured. */
  readonly listener: string;
}

/** How the requests of each named caller ended, since the start. */
export class CallerStats {
  readonly #clock: Clock;
  readonly #counters = new Map<string, RequestCounters>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  report(event: RequestFinished): void {
    const { listener, callerName } = event;
    if (listener === undefined || callerName === undefined) return;
    const counters = countersOf(this.#counters, keyOf(listener, callerName), RequestCounters);
    counters.add(event, this.#clock.wallMs());
  }

  /** Each name once for each listener; counts of callers that are not configured any more are forgotten. */
  view(configured: readonly ConfiguredCaller[]): readonly CallerStatus[] {
    const callers = new Map(configured.map((caller) => [keyOf(caller.listener, caller.name), caller]));
    for (const key of this.#counters.keys()) if (!callers.has(key)) this.#counters.delete(key);
    return [...callers].map(([key, { name, environment, listener, certificates, ...rights }]) => ({
      name,
      environment,
      listener,
      by: certificates.length > 0 ? "certificate" : "token",
      sites: list(rights.sites),
      operations: list(rights.operations),
      requestsPerSecond: rights.requestsPerSecond,
      tally: (this.#counters.get(key) ?? new RequestCounters()).view(),
    }));
  }
}

function keyOf(listener: string, name: string): string {
  return `${listener} ${name}`;
}

function list(allowed: ReadonlySet<string> | "any"): readonly string[] {
  return allowed === "any" ? ["*"] : [...allowed];
}
