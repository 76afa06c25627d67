import { totalmem } from "node:os";
import { type Clock, systemClock } from "../model/clock.ts";
import type { Report } from "../model/events.ts";
import { containerMemory } from "./process-limits.ts";

/** What a test may replace: time, chance, and where events go. */
export interface Dependencies {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Gets every event, beside metrics and status: the log, or a test. */
  readonly report: Report;
  /** Log lines that could not be written so far. */
  readonly droppedLogLines?: () => number;
  /** The memory that this process may take, as the kernel says (cgroup v1 or v2); undefined where it says nothing. */
  readonly memoryBytes?: number | undefined;
}

/** Those of the machine. */
export const systemDependencies: Dependencies = {
  clock: systemClock,
  random: Math.random,
  report: () => {},
  memoryBytes: containerMemory(process.constrainedMemory(), totalmem()),
};
