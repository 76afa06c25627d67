import type { HeaderLines } from "../http/headers.ts";
import type { AccessEvent } from "./access-event.ts";
import type { ListenerContext, Send } from "./messages.ts";

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
