import type { Clock } from "../../model/clock.ts";
import type { Event, ReloadTrigger } from "../../model/events.ts";
import { formatTime } from "./sums.ts";

const keptProblems = 50;

export type ReloadStatus = ReturnType<ReloadStats["view"]>;
export type RefusedReload = NonNullable<ReloadStatus["lastRefused"]>;

/** Since when the configuration is active and why, and the last one that was refused. */
export class ReloadStats {
  readonly #clock: Clock;
  /** By the wall clock; undefined until the first configuration is active. */
  activeSinceMs: number | undefined;
  /** What was refused is still what would be loaded: nothing has been applied or found unchanged since. */
  isRefused = false;
  #trigger: "start" | ReloadTrigger = "start";
  #lastRefused: ReturnType<typeof describeRefusal> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  report(event: Event): void {
    switch (event.kind) {
      case "started":
        this.activeSinceMs = this.#clock.wallMs();
        return;
      case "config_applied":
        this.activeSinceMs = this.#clock.wallMs();
        this.#trigger = event.trigger;
        this.isRefused = false;
        return;
      case "config_unchanged":
        this.isRefused = false;
        return;
      case "config_refused":
        this.#lastRefused = describeRefusal(event, formatTime(this.#clock.wallMs()));
        this.isRefused = true;
        return;
      default:
        return;
    }
  }

  /** @param routes where each listener leads, one line each */
  view(routes: readonly string[]) {
    const inForceSince = this.activeSinceMs === undefined ? undefined : formatTime(this.activeSinceMs);
    const lastRefused = this.#lastRefused && { ...this.#lastRefused, isPending: this.isRefused };
    return { inForceSince, trigger: this.#trigger, routes, lastRefused };
  }
}

function describeRefusal({ trigger, problems }: Extract<Event, { kind: "config_refused" }>, at: string) {
  return { at, trigger, problems: problems.slice(0, keptProblems), problemCount: problems.length };
}
