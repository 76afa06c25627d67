import type { Event, Report } from "../model/events.ts";

/**
 * Reports what one part says of its own state while it is active. What it said last is repeated when it becomes active: a
 * part that is being prepared, or was left, may have the name of another one. Events about no state always pass.
 */
export class StateReport {
  readonly #report: Report;
  readonly #subjectOf: (event: Event) => string | undefined;
  readonly #latest = new Map<string, Event>();
  #isActive = false;

  /** @param subjectOf what an event tells the state of; undefined where it tells none */
  constructor(report: Report, subjectOf: (event: Event) => string | undefined) {
    this.#report = report;
    this.#subjectOf = subjectOf;
  }

  readonly report: Report = (event) => {
    const subject = this.#subjectOf(event);
    if (subject !== undefined) this.#latest.set(subject, event);
    if (subject === undefined || this.#isActive) this.#report(event);
  };

  set isActive(isActive: boolean) {
    if (isActive && !this.#isActive) for (const event of this.#latest.values()) this.#report(event);
    this.#isActive = isActive;
  }
}
