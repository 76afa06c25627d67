import type { HeaderLines } from "../http/headers.ts";
import { readTraceParent, readTraceState, type SpanContext } from "../http/trace-context.ts";
import type { Clock } from "../model/clock.ts";
import type { Address } from "../model/environment.ts";
import type { AccessEvent, RequestTrace, Tracer } from "../proxy/access-event.ts";
import type { ListenerContext } from "../proxy/messages.ts";
import { attributesOfPost, attributesOfTokenRequest, type TokenRequested } from "./attributes.ts";
import {
  type BegunSpan,
  PassingTrace,
  type Propagation,
  RecordedTrace,
  type RequestTraceParts,
  type TokenWait,
} from "./request-trace.ts";
import type { RecordSpan } from "./span.ts";

export interface TracerParts {
  readonly clock: Clock;
  /** So many random bytes as lower-case hex digits. */
  readonly randomHex: (bytes: number) => string;
  readonly record: RecordSpan;
  /** Of the traces that begin here, how many are recorded: 0 to 1. Those of callers are recorded where they say so. */
  readonly sampleRatio: number;
  readonly propagation: Propagation;
}

/** Begins the spans of requests, and records those of token requests. */
export class SpanTracer implements Tracer {
  readonly #clock: Clock;
  readonly #randomHex: (bytes: number) => string;
  readonly #sampleRatio: number;
  readonly #parts: RequestTraceParts;

  constructor({ clock, randomHex, record, sampleRatio, propagation }: TracerParts) {
    this.#clock = clock;
    this.#randomHex = randomHex;
    this.#sampleRatio = sampleRatio;
    this.#parts = { newSpanId: () => newId(randomHex, 8), record, waits: new Set(), propagation };
  }

  start(headers: HeaderLines, event: AccessEvent, listener: ListenerContext): RequestTrace {
    const parent = readTraceParent(headers);
    const context = parent === undefined ? this.#begin() : { ...parent, spanId: this.#parts.newSpanId() };
    const traceState = parent === undefined ? undefined : readTraceState(headers);
    const begun: BegunSpan = { context, parentSpanId: parent?.spanId, traceState, now: this.#timeFromNow() };
    event.traceId = context.traceId;
    if (!context.isSampled) return new PassingTrace(begun, this.#parts.propagation);
    event.spanId = context.spanId;
    return new RecordedTrace(this.#parts, begun, event, listener);
  }

  /**
   * Records the span of a token request. It belongs to the request that has waited for it from the start; whatever else waits
   * is linked. One that nothing waits for is a trace of its own.
   * @param url of the token endpoint
   */
  tokenRequested(event: TokenRequested, url: Address): void {
    const { record, waits, newSpanId } = this.#parts;
    const endMs = this.#clock.wallMs();
    const startMs = endMs - event.durationMs;
    const waiting = [...waits].filter((wait) => isEndedBy(event, wait));
    // The two times are of two readings of the clock, each of whole milliseconds.
    const cause = waiting.find((wait) => wait.startMs <= startMs + 1);
    const own = this.#begin();
    if (waiting.length === 0 && !own.isSampled) return;
    const traceId = cause?.traceId ?? own.traceId;
    const spanId = newSpanId();
    for (const wait of waiting) if (wait !== cause) wait.links.push({ traceId, spanId });
    record({
      traceId,
      spanId,
      parentSpanId: cause?.spanId,
      name: `POST ${url.path}`,
      kind: "client",
      startMs: Math.max(startMs, cause?.startMs ?? startMs),
      endMs,
      attributes: { ...attributesOfPost(url, url.path), ...attributesOfTokenRequest(event) },
      isError: event.result !== "issued",
    });
  }

  /** The first span of a new trace. Its random id decides whether it is recorded. */
  #begin(): SpanContext {
    const traceId = newId(this.#randomHex, 16);
    const isSampled = Number.parseInt(traceId.slice(-13), 16) / 2 ** 52 < this.#sampleRatio;
    return { traceId, spanId: this.#parts.newSpanId(), isSampled };
  }

  /** The wall clock as it would go on from now, without jumps, in fractions of a millisecond. */
  #timeFromNow(): () => number {
    const offsetMs = this.#clock.wallMs() - this.#clock.nowMs();
    return () => offsetMs + this.#clock.nowMs();
  }
}

/** Whether a token of the event's set is one that this request waits for. */
function isEndedBy({ environment: name, credential }: TokenRequested, { environment, site }: TokenWait): boolean {
  if (environment.name !== name || site === undefined) return false;
  const sets = environment.sites.get(site)?.credentials?.sets ?? [];
  return sets.some(({ label }) => label === credential);
}

/** Ids are not all zero (W3C Trace Context, section 3.2.2). */
function newId(randomHex: (bytes: number) => string, bytes: number): string {
  const id = randomHex(bytes);
  return /^0+$/.test(id) ? newId(randomHex, bytes) : id;
}
