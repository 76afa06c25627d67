import type { TraceEvent } from "../../src/model/process-events.ts";
import { common, type Reference } from "./line.ts";

const { isFirst } = common;

/** The lines of tracing. */
export const traceLines: Reference<TraceEvent["kind"]> = {
  spans_exported: {
    levels: ["debug"],
    when: "The collector has taken spans.",
    fields: { count: "How many." },
  },
  spans_lost: {
    levels: ["warn", "debug"],
    when: "Spans will reach no collector. Requests are not touched by it.",
    fields: {
      result: "`dropped`: they were not sent. `rejected`: the collector refused them.",
      count: "How many.",
      cause: "`no room` where too many waited, `the end` of the process, or the collector's status.",
      isFirst,
    },
  },
  spans_delayed: {
    levels: ["warn", "debug"],
    when: "The collector took no spans; they are sent again.",
    fields: {
      waiting: "How many spans wait.",
      cause: "A code of the connection, or the collector's status.",
      pauseMs: "How long the next try waits.",
      isFirst,
    },
  },
};
