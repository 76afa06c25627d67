import type { Clock } from "../../model/clock.ts";
import type { ProcessEvent } from "../../model/process-events.ts";
import { formatTime } from "./format-time.ts";
import type { ReloadStatus } from "./snapshot.ts";

type ConfigEvent = Extract<
  ProcessEvent,
  { kind: "started" | "config_applied" | "config_refused" | "config_unchanged" }
>;

const keptProblems = 50;

/** How the configuration in force came to be, and the last one that was refused. */
export class ReloadStats {
  readonly #clock: Clock;
  #status: ReloadStatus = { inForceSince: undefined, trigger: "start", routes: [], lastRefused: undefined };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(event: ConfigEvent): void {
    const at = formatTime(this.#clock.wallMs());
    switch (event.kind) {
      case "started":
        this.#update({ inForceSince: at, routes: event.routes });
        return;
      case "config_applied":
        this.#settle();
        this.#update({ inForceSince: at, trigger: event.trigger, routes: event.routes });
        return;
      case "config_unchanged":
        this.#settle();
        return;
      case "config_refused": {
        const { trigger, problems } = event;
        const kept = { problems: problems.slice(0, keptProblems), problemCount: problems.length };
        this.#update({ lastRefused: { at, trigger, ...kept, isPending: true } });
        return;
      }
    }
  }

  view(): ReloadStatus {
    return this.#status;
  }

  /** What is in force is what would be loaded. */
  #settle(): void {
    const { lastRefused } = this.#status;
    if (lastRefused !== undefined) this.#update({ lastRefused: { ...lastRefused, isPending: false } });
  }

  #update(change: Partial<ReloadStatus>): void {
    this.#status = { ...this.#status, ...change };
  }
}
