import { connectionOptions, type HeaderLine, hopByHop, isFramed } from "../http/headers.ts";
import type { Outcome } from "../model/errors.ts";
import type { RequestContext } from "./context.ts";
import type { StreamedResponse, UpstreamResponse } from "./messages.ts";

/** The service's response as the client gets it: status and body untouched, our identification added. */
export function toClientResponse(
  { status, headers, body }: UpstreamResponse,
  outcome: Outcome,
  context: RequestContext,
): StreamedResponse {
  const { requestId, attempts } = context.event;
  const own: HeaderLine[] = [
    ["Countersign-Request-Id", requestId],
    ["Countersign-Outcome", outcome],
  ];
  if (attempts > 1) own.push(["Countersign-Attempts", String(attempts)]);
  return {
    status,
    headers: [...headersDownstream(headers), ...own],
    body: context.timed(body),
    isFramed: isFramed({ status, headers }),
    onSlowReader: () => context.buffer?.chargeSlowReader(),
  };
}

/** The response's headers that reach the client: all but the hop-by-hop ones and any that could pass for ours. */
export function headersDownstream(headers: readonly HeaderLine[]): HeaderLine[] {
  const dropped = connectionOptions(headers);
  return headers.filter(([given]) => {
    const name = given.toLowerCase();
    return !hopByHop.has(name) && !dropped.has(name) && !name.startsWith("countersign-");
  });
}
