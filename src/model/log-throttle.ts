import type { Clock } from "./clock.ts";

const tellAgainMs = 60_000;

/** What fails again and again is told of once a minute, for each kind of failure. */
export class LogThrottle {
  readonly #clock: Clock;
  readonly #toldAtMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether it is the first of its kind for a minute; asking counts as telling. */
  isFirst(kind: string): boolean {
    const nowMs = this.#clock.nowMs();
    const isFirst = nowMs >= (this.#toldAtMs.get(kind) ?? Number.NEGATIVE_INFINITY) + tellAgainMs;
    if (isFirst) this.#toldAtMs.set(kind, nowMs);
    return isFirst;
  }
}
