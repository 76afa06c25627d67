import type { Clock } from "../../model/clock.ts";
import type { Event, ReloadTrigger } from "../../model/events.ts";
import { formatTime } from "./sums.ts";

const keptProblems = 50;

export type ReloadStatus = ReturnType<ReloadStats["view"]>;

export interface RefusedReload {
  readonly at: string;
  readonly trigger: ReloadTrigger;
  /** The first of them. */
  readonly problems: readonly string[];
  readonly problemCount: number;
  /** Whether what was refused is still what would be loaded: nothing has been applied or found unchanged since. */
  readonly isPending: boolean;
}

/** Since when the configuration is active and why, and the last one that was refused. */
export class ReloadStats {
  readonly #clock: Clock;
  #activeSinceMs: number | undefined;
  #trigger: "start" | ReloadTrigger = "start";
  #lastRefused: RefusedReload | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** By the wall clock; undefined until the first configuration is active. */
  get activeSinceMs(): number | undefined {
    return this.#activeSinceMs;
  }

  /** The files still hold what was refused. */
  get isRefused(): boolean {
    return this.#lastRefused?.isPending === true;
  }

  report(event: Event): void {
    switch (event.kind) {
      case "started":
        this.#activeSinceMs = this.#clock.wallMs();
        return;
      case "config_applied":
        this.#activeSinceMs = this.#clock.wallMs();
        this.#trigger = event.trigger;
        this.#resolve();
        return;
      case "config_unchanged":
        this.#resolve();
        return;
      case "config_refused": {
        const { trigger, problems } = event;
        const kept = { problems: problems.slice(0, keptProblems), problemCount: problems.length };
        this.#lastRefused = { at: formatTime(this.#clock.wallMs()), trigger, ...kept, isPending: true };
        return;
      }
      default:
        return;
    }
  }

  /** @param routes where each listener leads, one line each */
  view(routes: readonly string[]) {
    const sinceMs = this.#activeSinceMs;
    const inForceSince = sinceMs === undefined ? undefined : formatTime(sinceMs);
    return { inForceSince, trigger: this.#trigger, routes, lastRefused: this.#lastRefused };
  }

  #resolve(): void {
    if (this.#lastRefused !== undefined) this.#lastRefused = { ...this.#lastRefused, isPending: false };
  }
}
