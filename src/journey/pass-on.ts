import type { Outcome } from "../errors.ts";
import { headersDownstream, isFramed } from "./headers.ts";
import type { UpstreamResponse, HeaderLine, ClientResponse } from "./messages.ts";
import type { RequestContext } from "./trip.ts";

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
