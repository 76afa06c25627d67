import type { Event, Report } from "../events.ts";

/**
 * What a cache tells of its servers being up or down. The caches of two configurations name theirs alike, so each is
 * heard only while it is in force: what it found out before is told then, and what it finds out later is kept to itself.
 */
export class CacheVoice {
  readonly #report: Report;
  readonly #found = new Map<string, Event>();
  #standing: "prepared" | "in_force" | "left" = "prepared";

  constructor(report: Report) {
    this.#report = report;
  }

  readonly say: Report = (event) => {
    const isOfServer = event.kind === "redis_up" || event.kind === "redis_down";
    if (!isOfServer || this.#standing === "in_force") this.#report(event);
    else if (this.#standing === "prepared") this.#found.set(event.node, event);
  };

  /** From now on it is in force. */
  raise(): void {
    this.#standing = "in_force";
    for (const event of this.#found.values()) this.#report(event);
    this.#found.clear();
  }

  /** From now on it is another's turn. */
  hush(): void {
    this.#standing = "left";
  }
}
