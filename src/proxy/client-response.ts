import type { Outcome } from "../model/errors.ts";
import type { RequestContext } from "./context.ts";
import { headersDownstream, isFramed } from "./headers.ts";
import type { ClientResponse, HeaderLine, UpstreamResponse } from "./messages.ts";

/** The service's answer as the caller gets it: status and body untouched, our identification added. */
export function toClientResponse(
  response: UpstreamResponse,
  outcome: Outcome,
  context: RequestContext,
): ClientResponse {
  const own: HeaderLine[] = [
    ["Countersign-Request-Id", context.requestId],
    ["Countersign-Outcome", outcome],
  ];
  if (context.attempts > 1) own.push(["Countersign-Attempts", String(context.attempts)]);
  return {
    status: response.status,
    headers: [...headersDownstream(response.headers), ...own],
    body: context.timed(response.body),
    isFramed: isFramed(response),
    onSlowReader: () => context.memory?.holdAnswer(),
  };
}
