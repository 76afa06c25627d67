import type { Clock } from "../model/clock.ts";

/** How a part ends. */
export interface Ends<Part> {
  /** When its last user can have gone. */
  readonly inTime: (part: Part) => Promise<void>;
  /** Whoever still uses it. */
  readonly atOnce: (part: Part) => Promise<void>;
}

/** Parts that a reload has left. Each ends once: when its time is up, or with everything else. */
export class Leaving<Part> {
  readonly #clock: Clock;
  readonly #ends: Ends<Part>;
  readonly #parts = new Set<Part>();
  #isOver = false;

  constructor(clock: Clock, ends: Ends<Part>) {
    this.#clock = clock;
    this.#ends = ends;
  }

  /** @param lingerMs how long whoever began with it may still want it */
  add(part: Part, lingerMs: number): void {
    // A reload was under way when everything ended.
    if (this.#isOver) return void this.#ends.atOnce(part);
    this.#parts.add(part);
    this.#clock.after(lingerMs, () => {
      if (this.#parts.delete(part)) void this.#ends.inTime(part);
    });
  }

  /** Everything ends. */
  async end(): Promise<void> {
    this.#isOver = true;
    const parts = [...this.#parts];
    this.#parts.clear();
    await Promise.all(parts.map((part) => this.#ends.atOnce(part)));
  }
}
