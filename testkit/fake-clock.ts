import type { Cancel, Clock } from "../src/model/clock.ts";

interface Timer {
  readonly atMs: number;
  readonly task: () => void;
}

/** A clock that the test moves. The wall clock can be set independently of it. */
export class FakeClock implements Clock {
  #nowMs = 1_000;
  #wallOffsetMs = Date.UTC(2026, 10, 21, 12, 0, 0) - 1_000;
  readonly #timers = new Set<Timer>();

  nowMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#nowMs + this.#wallOffsetMs;
  }

  after(delayMs: number, task: () => void): Cancel {
    const timer = { atMs: this.#nowMs + Math.max(0, delayMs), task };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How many timers are pending. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves on by this time: fires timers at their moments, and lets promises settle before and after each timer. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    await settle();
    for (let next = this.#next(untilMs); next !== undefined; next = this.#next(untilMs)) {
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.task();
      await settle();
    }
    this.#nowMs = untilMs;
    await settle();
  }

  /** A step of the wall clock alone: a person sets it, or NTP does. */
  jumpWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  #next(untilMs: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.atMs <= untilMs && (first === undefined || timer.atMs < first.atMs)) first = timer;
    }
    return first;
  }
}

/** Lets every promise that can settle now do so. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
