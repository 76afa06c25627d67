import type { FailureCode, Outcome } from "../model/errors.ts";
import type { RequestFinished } from "../model/events.ts";
import type { RequestContext } from "./context.ts";
import type { ClientConnection, ListenerContext } from "./messages.ts";

/** Where any operation may be called, a caller chooses its length. */
const longestOperation = 128;

/** How a request ended for its caller. */
export interface Ending {
  readonly status: number;
  readonly by: RequestFinished["by"];
  readonly outcome: Outcome;
  readonly code: FailureCode | undefined;
}

/** The one fact that sums up a request. */
export function describeAccess(
  ending: Ending,
  trip: RequestContext,
  door: ListenerContext,
  caller: ClientConnection,
): RequestFinished {
  const { name, operations } = door.environment;
  const { cause, ...details } = trip.details;
  return {
    kind: "request_finished",
    environment: name,
    requestId: trip.requestId,
    traceId: trip.traceId,
    reference: trip.reference,
    site: trip.site,
    auth: trip.auth,
    operation: trip.operation?.slice(0, longestOperation),
    operationLabel: labelOf(trip.operation, operations),
    ...ending,
    cause,
    stage: trip.stage,
    attempts: trip.attempts,
    admitted: trip.admitted,
    durationMs: trip.durationMs(),
    upstreamMs: trip.upstreamMs,
    overheadMs: trip.overheadMs(),
    callerName: trip.callerName,
    callerLeft: caller.callerLeft(),
    ...details,
  };
}

/** Labels come from the configuration only, so no caller can make a new metric series. */
function labelOf(operation: string | undefined, operations: ReadonlySet<string> | "any"): string {
  if (operation === undefined) return "none";
  return operations !== "any" && operations.has(operation) ? operation : "other";
}
