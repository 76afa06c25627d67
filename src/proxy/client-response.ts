import { connectionOptions, type HeaderLines, hopByHop, isFramed } from "../http/headers.ts";
import type { Outcome } from "../model/errors.ts";
import type { RequestContext } from "./context.ts";
import type { ClientResponse, UpstreamResponse } from "./messages.ts";

/** The service's response as the client gets it: status and body untouched, our identification added. */
export function toClientResponse(
  response: UpstreamResponse,
  outcome: Outcome,
  context: RequestContext,
  streaming: Pick<ClientResponse, "idleMs" | "signal">,
): ClientResponse {
  const { requestId, attempts } = context.event;
  const headers = headersDownstream(response.headers);
  headers.push("Countersign-Request-Id", requestId, "Countersign-Outcome", outcome);
  if (attempts > 1) headers.push("Countersign-Attempts", String(attempts));
  return {
    status: response.status,
    headers,
    body: context.received(response.body),
    isLocal: false,
    isFramed: isFramed(response),
    ...streaming,
    onSlowReader: () => context.admission.buffer?.chargeSlowReader(),
  };
}

/** The response's headers that reach the client: all but the hop-by-hop ones and any that could pass for ours. */
export function headersDownstream(headers: HeaderLines): string[] {
  const dropped = connectionOptions(headers);
  const passed: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const given = headers[index] ?? "";
    const name = given.toLowerCase();
    if (hopByHop.has(name) || name.startsWith("countersign-") || dropped.includes(name)) continue;
    passed.push(given, headers[index + 1] ?? "");
  }
  return passed;
}
