import { callbackLines } from "./callbacks.ts";
import type { Reference } from "./line.ts";
import { processLines } from "./process.ts";
import { requestLines } from "./requests.ts";
import { tokenLines } from "./tokens.ts";
import { traceLines } from "./traces.ts";
import { tunnelLines } from "./tunnels.ts";

/** Of every line. */
export const everyLine = {
  level: "`trace`, `debug`, `info`, `warn` or `error`; `log.level` says which are written.",
  time: "ISO 8601, UTC, by the wall clock.",
  event: "Which kind of line it is.",
  message: "What a person wants to read, in one line. It may change; select by the other fields.",
} as const;

/** Every kind of log line with all its fields: docs/reference/log.md is made from it. */
export const logReference: Reference = {
  ...requestLines,
  ...callbackLines,
  ...tokenLines,
  ...tunnelLines,
  ...traceLines,
  ...processLines,
};
