import type { Event, Report } from "../model/events.ts";

/**
 * Reports what one part says of its own state while it is active; what it said last is repeated when it becomes active.
 * Parts of two configurations may have one name. Events that say nothing of a state pass at any time.
 */
export class StateReport {
  readonly #report: Report;
  readonly #aspectOf: (event: Event) => string | undefined;
  readonly #latest = new Map<string, Event>();
  #isActive = false;

  /** @param aspectOf the aspect of the state that an event is about, if any */
  constructor(report: Report, aspectOf: (event: Event) => string | undefined) {
    this.#report = report;
    this.#aspectOf = aspectOf;
  }

  readonly report: Report = (event) => {
    const aspect = this.#aspectOf(event);
    if (aspect !== undefined) this.#latest.set(aspect, event);
    if (aspect === undefined || this.#isActive) this.#report(event);
  };

  get isActive(): boolean {
    return this.#isActive;
  }

  set isActive(isActive: boolean) {
    if (isActive && !this.#isActive) for (const event of this.#latest.values()) this.#report(event);
    this.#isActive = isActive;
  }
}
