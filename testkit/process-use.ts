import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** A process by its child, or by what is left of it. */
interface Running {
  readonly child: { readonly pid?: number | undefined };
}

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** Memory of a process, as Linux counts it: now (VmRSS), or its peak so far (VmHWM). */
export function residentBytes({ child }: Running, field: "VmRSS" | "VmHWM" = "VmRSS"): number {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1_024;
}

/** The processor time of a process so far: proc(5), fields 14 and 15. */
export function processorSeconds({ child }: Running): number {
  const [, fields = ""] = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) / ticksPerSecond;
}
