import type { Outcome } from "../model/errors.ts";
import type { RequestContext } from "./context.ts";
import { headersDownstream, isFramed } from "./headers.ts";
import type { ClientResponse, HeaderLine, UpstreamResponse } from "./messages.ts";

/** The service's answer as the caller gets it: status and body untouched, our identification added. */
export function toClientResponse(answer: UpstreamResponse, outcome: Outcome, trip: RequestContext): ClientResponse {
  const own: HeaderLine[] = [
    ["Countersign-Request-Id", trip.requestId],
    ["Countersign-Outcome", outcome],
  ];
  if (trip.attempts > 1) own.push(["Countersign-Attempts", String(trip.attempts)]);
  return {
    status: answer.status,
    headers: [...headersDownstream(answer.headers), ...own],
    body: trip.timed(answer.body),
    isFramed: isFramed(answer),
    onSlowReader: () => trip.memory?.holdAnswer(),
  };
}
