import type { Event, Report } from "../model/events.ts";

/**
 * What a part tells of its own state. Parts of two configurations may go by the same name, so each is heard only while it is
 * in force: what it came to before is told then, and what it comes to afterwards is nobody's news. Other facts, those
 * that are counted, pass at any time.
 */
export class Announcements {
  readonly #report: Report;
  readonly #aspectOf: (event: Event) => string | undefined;
  readonly #latest = new Map<string, Event>();
  #standing: "prepared" | "in_force" | "left" = "prepared";

  /** @param aspectOf the aspect of the state that a fact tells, if any: the latest fact of each is kept */
  constructor(report: Report, aspectOf: (event: Event) => string | undefined) {
    this.#report = report;
    this.#aspectOf = aspectOf;
  }

  readonly report: Report = (event) => {
    const aspect = this.#aspectOf(event);
    if (aspect === undefined || this.#standing === "in_force") this.#report(event);
    else if (this.#standing === "prepared") this.#latest.set(aspect, event);
  };

  /** The part is in force from now on. */
  begin(): void {
    this.#standing = "in_force";
    for (const event of this.#latest.values()) this.#report(event);
    this.#latest.clear();
  }

  /** It is not any more. */
  end(): void {
    this.#standing = "left";
  }

  get areHeard(): boolean {
    return this.#standing === "in_force";
  }
}
