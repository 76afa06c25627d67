import { type Clock, systemClock } from "../clock.ts";
import type { Report } from "../events.ts";

/** What the outside may replace: a test owns time and chance, and hears the facts. */
export interface Surroundings {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Hears every fact, beside metrics and status: the log, or a test. */
  readonly report: Report;
}

export const systemSurroundings: Surroundings = { clock: systemClock, random: Math.random, report: () => {} };
