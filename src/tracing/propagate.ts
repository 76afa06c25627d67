import type { HeaderLines } from "../http/headers.ts";
import { formatTraceParent, type SpanContext } from "../http/trace-context.ts";

/** Whether the service gets `traceparent`: where the caller sent one, with every request, or with none. */
export type Propagation = "callers" | "always" | "never";

/**
 * The headers of an attempt, with its own place in the trace instead of the caller's.
 * @param headers in lower case, with those of the caller that may pass
 * @param traceState of the caller, where it is sound
 */
export function propagate(
  headers: HeaderLines,
  context: SpanContext,
  traceState: string | undefined,
  propagation: Propagation,
): HeaderLines {
  const sent: string[] = [];
  let hasParent = false;
  let hasState = false;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? "";
    if (name === "traceparent") hasParent = true;
    else if (name === "tracestate") hasState = true;
    else sent.push(name, headers[index + 1] ?? "");
  }
  if (propagation === "never" || (propagation === "callers" && !hasParent)) return sent;
  sent.push("traceparent", formatTraceParent(context));
  if (hasState && traceState !== undefined) sent.push("tracestate", traceState);
  return sent;
}
