import { type HeaderLines, valuesOf } from "../http/headers.ts";
import type { RequestFinished } from "../model/events.ts";
import type { ClientConnection, ListenerContext, Send } from "./messages.ts";
import { peekReference, peekRequestId, peekTraceId } from "./request-options.ts";
import { type Target, targetInLog } from "./target.ts";

/** The one event that sums up a request, while it is being filled in. */
export type AccessEvent = { -readonly [Name in keyof RequestFinished]: RequestFinished[Name] };

/** Any operation may be allowed, and then its length is the client's choice. */
export const longestOperation = 128;
/** Longer than any identifier of a service. */
const longestUpstreamHeader = 256;

type Arrived = Pick<ClientConnection, "method" | "peer" | "headers">;

/** What is known of a request or a callback before anything about it is checked. */
export function describeArrival(
  requestId: string,
  { method, peer, headers }: Arrived,
  target: Target | undefined,
  { environment, listener }: Pick<ListenerContext, "environment" | "listener">,
) {
  return {
    environment: environment.name,
    requestId,
    callerRequestId: peekRequestId(headers),
    traceId: peekTraceId(headers),
    method,
    // The target of a CONNECT is a foreign host.
    target: target === undefined || method === "CONNECT" ? undefined : targetInLog(target),
    listener,
    caller: peer?.subject,
    callerAddress: peer?.address,
    status: 0,
    outcome: "not_sent" as const,
    durationMs: 0,
    callerLeft: false,
  };
}

export function openAccessEvent(
  requestId: string,
  client: Arrived,
  target: Target | undefined,
  listener: ListenerContext,
): AccessEvent {
  return {
    ...describeArrival(requestId, client, target, listener),
    kind: "request_finished",
    reference: peekReference(client.headers),
    site: undefined,
    auth: undefined,
    operation: undefined,
    operationLabel: "none",
    by: "countersign",
    code: undefined,
    stage: "read_head",
    attempts: 0,
    admitted: false,
    upstreamMs: undefined,
    overheadMs: 0,
  };
}

/**
 * The response's headers of these names, bounded: it is foreign text.
 * @returns undefined where it has none of them
 */
export function pickHeaders(
  headers: HeaderLines,
  names: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (names.length === 0) return undefined;
  const found: Record<string, string> = {};
  for (const name of names) {
    const value = valuesOf(headers, name).join(", ");
    const isLong = value.length > longestUpstreamHeader;
    if (value !== "") found[name] = isLong ? `${value.slice(0, longestUpstreamHeader)}…` : value;
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

/** Records what requests do as spans. Absent where tracing is not configured. It never throws and never waits. */
export interface Tracer {
  /**
   * Begins the span of a request, and tells its event the trace.
   * @param headers of the request
   */
  start(headers: HeaderLines, event: AccessEvent, listener: ListenerContext): RequestTrace;
}

/** The spans of one request. */
export interface RequestTrace {
  /** Sends as the one given does, with `traceparent`, and a span for whatever was written. */
  traced(send: Send): Send;
  /** The request begins to wait for a token, which is not in memory. */
  beginTokenWait(): void;
  /** It has its token, or none. Harmless where it did not wait. */
  endTokenWait(): void;
  /** The request has ended, and its event is complete. */
  end(): void;
}
