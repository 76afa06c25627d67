import type { RequestFinished } from "../src/model/events.ts";

/** The event of an order that the service has answered; `change` replaces fields. */
export function finishedRequest(change: Partial<RequestFinished> = {}): RequestFinished {
  return {
    kind: "request_finished",
    environment: "sandbox",
    requestId: "r",
    traceId: undefined,
    reference: undefined,
    site: "S1",
    auth: "hmac",
    operation: "create_order",
    operationLabel: "create_order",
    status: 200,
    by: "service",
    outcome: "answered",
    code: undefined,
    stage: "stream_answer",
    attempts: 1,
    durationMs: 1,
    upstreamMs: 1,
    overheadMs: 1,
    callerLeft: false,
    ...change,
  };
}
