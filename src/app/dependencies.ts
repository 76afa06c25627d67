import { totalmem } from "node:os";
import { type Clock, systemClock } from "../model/clock.ts";
import type { Report } from "../model/events.ts";
import { containerMemory } from "./process-limits.ts";

/** The dependencies that a test may replace: time, chance, and the receiver of events. */
export interface Dependencies {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Gets every event, like metrics and status: the log, or a test. */
  readonly report: Report;
  /** Returns how many log lines could not be written so far. */
  readonly droppedLogLines?: () => number;
  /** The memory limit of this process, from its cgroup (v1 or v2); undefined if there is none. */
  readonly memoryBytes?: number | undefined;
}

/** The machine's clock, chance and memory; events go nowhere. */
export const systemDependencies: Dependencies = {
  clock: systemClock,
  random: Math.random,
  report: () => {},
  memoryBytes: containerMemory(process.constrainedMemory(), totalmem()),
};
