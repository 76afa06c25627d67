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
  context: RequestContext,
  listener: ListenerContext,
  client: ClientConnection,
): RequestFinished {
  const { name, operations } = listener.environment;
  const { cause, ...details } = context.details;
  return {
    kind: "request_finished",
    environment: name,
    requestId: context.requestId,
    traceId: context.traceId,
    reference: context.reference,
    site: context.site,
    auth: context.auth,
    operation: context.operation?.slice(0, longestOperation),
    operationLabel: labelOf(context.operation, operations),
    ...ending,
    cause,
    stage: context.stage,
    attempts: context.attempts,
    admitted: context.admitted,
    durationMs: context.durationMs(),
    upstreamMs: context.upstreamMs,
    overheadMs: context.overheadMs(),
    callerName: context.callerName,
    callerLeft: client.isClosed(),
    ...details,
  };
}

/** Labels come from the configuration only, so no caller can make a new metric series. */
function labelOf(operation: string | undefined, operations: ReadonlySet<string> | "any"): string {
  if (operation === undefined) return "none";
  return operations !== "any" && operations.has(operation) ? operation : "other";
}
