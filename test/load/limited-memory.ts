import { onTestFinished } from "vitest";
import { type KernelLimits, limitProcesses } from "../../testkit/kernel-limits.ts";

/** A limit that goes with the test; undefined where this process may not make one. Call it before anything that runs in it. */
export function limitMemory(memoryBytes: number): KernelLimits | undefined {
  const limits = limitProcesses({ memoryBytes });
  if (limits !== undefined) onTestFinished(limits.remove);
  return limits;
}
