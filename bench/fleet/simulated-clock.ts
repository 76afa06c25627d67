import type { Cancel, Clock } from "../../src/model/clock.ts";
import type { Work } from "./work.ts";

const wallOffsetMs = Date.UTC(2026, 10, 21, 12, 0, 0);

interface Planned {
  readonly atMs: number;
  task: (() => void) | undefined;
}

/** A clock that jumps to the next event once all work that the last event started is done. */
export class SimulatedClock implements Clock {
  readonly #work: Work;
  /** Planned events, the soonest last; of two at the same moment, the one made earlier is last. */
  readonly #events: Planned[] = [];
  #nowMs = 1_000;
  #count = 0;

  constructor(work: Work) {
    this.#work = work;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#nowMs + wallOffsetMs;
  }

  /** Events so far. */
  get count(): number {
    return this.#count;
  }

  after(delayMs: number, task: () => void): Cancel {
    const event: Planned = { atMs: this.#nowMs + Math.max(0, delayMs), task };
    this.#events.splice(this.#placeOf(event.atMs), 0, event);
    // The event stays until its moment, and then does nothing.
    return () => {
      event.task = undefined;
    };
  }

  /** By binary search, since a fleet has some ten thousand timers pending. */
  #placeOf(atMs: number): number {
    let [least, most] = [0, this.#events.length];
    while (least < most) {
      const middle = (least + most) >> 1;
      const isLater = (this.#events[middle]?.atMs ?? 0) > atMs;
      if (isLater) least = middle + 1;
      else most = middle;
    }
    return least;
  }

  async runUntil(isOver: () => boolean): Promise<void> {
    await this.#work.settle();
    while (!isOver()) {
      const event = this.#events.pop();
      if (event === undefined) throw new Error("nothing is ever going to happen again");
      if (event.task === undefined) continue;
      this.#nowMs = event.atMs;
      this.#count += 1;
      event.task();
      await this.#work.settle();
    }
  }
}

/** One process's view of the clock: the timers of a killed process do nothing. */
export class ProcessClock implements Clock {
  readonly #clock: Clock;
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  nowMs(): number {
    return this.#clock.nowMs();
  }

  wallMs(): number {
    return this.#clock.wallMs();
  }

  after(delayMs: number, task: () => void): Cancel {
    return this.#clock.after(delayMs, () => {
      if (!this.#isOver) task();
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
  }
}
