import { retryAfterMs } from "../http/date.ts";
import { type Clock, LogThrottle, within } from "../model/clock.ts";
import type { Report } from "../model/events.ts";

/** Attributes by name; one that is undefined is left out. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** As OTLP numbers them. */
const spanKinds = { internal: 1, server: 2, client: 3 } as const;

/** A reference to a related span. */
export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
}

/** One piece of work, complete (OpenTelemetry). It holds no secret and no value of a parameter. */
export interface Span extends SpanLink {
  readonly parentSpanId: string | undefined;
  readonly traceState?: string | undefined;
  readonly name: string;
  readonly kind: keyof typeof spanKinds;
  /** By the wall clock, in milliseconds since the Unix epoch; may have fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly links?: readonly SpanLink[];
  readonly isError: boolean;
}

/** The attributes and the version that all spans of this process share. */
export interface Origin {
  readonly resource: Attributes;
  /** Countersign's version. */
  readonly version: string;
}

/** The answer to a POST, or why there is none. */
export type PostResult =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly retryAfter: string | undefined;
      readonly date: string | undefined;
      /** Undefined if it is longer than 64 KiB, or if a failure's body broke off. */
      readonly body: string | undefined;
    }
  /** `cause` is a code, such as ECONNREFUSED. */
  | { readonly kind: "timed_out" | "failed"; readonly cause: string };

/** Posts a body to the collector, once. It never rejects. */
export type PostSpans = (body: string, timeoutMs: number) => Promise<PostResult>;

interface SpanExporterParts {
  readonly post: PostSpans;
  readonly origin: Origin;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly report: Report;
}

/** The most spans that may wait; about 2 MiB. */
const mostWaiting = 2_048;
const mostInBatch = 512;
/** How long a span waits for others of its batch. */
const batchDelayMs = 1_000;
const postTimeoutMs = 10_000;
const longestPauseMs = 30_000;
/** Statuses after which the same spans are sent again (OTLP 1.x, section Failures). */
const retryable: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * Sends spans to a collector in the background, one batch at a time. While the collector is unreachable, spans wait, up to a
 * bound; further ones are dropped and counted. Adding a span never waits.
 */
export class SpanExporter {
  readonly #parts: SpanExporterParts;
  readonly #throttle: LogThrottle;
  /** Spans are encoded when they are added, so that no batch takes long to make. */
  #waiting: string[] = [];
  #dropped = 0;
  #failuresInARow = 0;
  #isArmed = false;
  /** Set by `close`, which alone begins exports from then on. */
  #isClosed = false;
  #hasEnded = false;
  #exporting: Promise<void> | undefined;

  constructor(parts: SpanExporterParts) {
    this.#parts = parts;
    this.#throttle = new LogThrottle(parts.clock);
  }

  add(span: Span): void {
    if (this.#waiting.length >= mostWaiting || this.#isClosed) this.#dropped += 1;
    else this.#waiting.push(encodeSpan(span));
    // No further export would report the dropped span.
    if (this.#hasEnded) {
      this.#reportDropped();
      return;
    }
    const isFull = this.#waiting.length === mostInBatch && this.#failuresInARow === 0;
    if (isFull && this.#exporting === undefined) this.#export();
    else this.#arm(batchDelayMs);
  }

  /**
   * Sends the waiting spans, each batch once.
   * @param limitMs after this time the rest is dropped
   */
  async close(limitMs: number): Promise<void> {
    this.#isClosed = true;
    await within(this.#parts.clock, this.#drain(), limitMs);
    this.#hasEnded = true;
    this.#dropped += this.#waiting.length;
    this.#waiting = [];
    this.#reportDropped();
  }

  async #drain(): Promise<void> {
    await this.#exporting;
    let isTaken = true;
    while (isTaken && this.#waiting.length > 0) isTaken = (await this.#exportBatch()) === undefined;
  }

  #arm(delayMs: number): void {
    if (this.#isArmed || this.#exporting !== undefined || this.#isClosed) return;
    this.#isArmed = true;
    this.#parts.clock.after(delayMs, () => {
      this.#isArmed = false;
      this.#export();
    });
  }

  #export(): void {
    if (this.#exporting !== undefined || this.#isClosed) return;
    this.#exporting = this.#exportBatch().then((pauseMs) => {
      this.#exporting = undefined;
      this.#reportDropped();
      if (this.#waiting.length > 0) this.#arm(pauseMs ?? (this.#waiting.length >= mostInBatch ? 0 : batchDelayMs));
    });
  }

  /** @returns how long to wait before the next export; undefined if the collector has accepted or refused this one */
  async #exportBatch(): Promise<number | undefined> {
    const { post, origin, report } = this.#parts;
    const batch = this.#waiting.slice(0, mostInBatch);
    if (batch.length === 0) return undefined;
    const result = await post(encodeRequest(batch, origin), postTimeoutMs);
    if (this.#hasEnded) return undefined;
    if (result.kind !== "answered") return this.#delay(result.cause);
    const { status, retryAfter, date, body } = result;
    if (retryable.has(status)) {
      return this.#delay(`HTTP ${status}`, retryAfterMs(retryAfter, date, this.#parts.clock.wallMs()));
    }
    this.#failuresInARow = 0;
    this.#waiting.splice(0, batch.length);
    const isTaken = status >= 200 && status <= 299;
    const rejected = isTaken ? Math.min(rejectedSpans(body), batch.length) : batch.length;
    const count = batch.length - rejected;
    if (count > 0) report({ kind: "spans_exported", count });
    if (rejected > 0) this.#reportLost("rejected", rejected, isTaken ? "partial success" : `HTTP ${status}`);
    return undefined;
  }

  #delay(cause: string, askedMs = 0): number {
    const backoffMs = Math.min(batchDelayMs * 2 ** this.#failuresInARow, longestPauseMs);
    const pauseMs = Math.max(askedMs, backoffMs * (0.5 + this.#parts.random() / 2));
    this.#failuresInARow += 1;
    const isFirst = this.#throttle.isFirst("delayed");
    this.#parts.report({ kind: "spans_delayed", waiting: this.#waiting.length, cause, pauseMs, isFirst });
    return pauseMs;
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const count = this.#dropped;
    this.#dropped = 0;
    this.#reportLost("dropped", count, this.#isClosed ? "the end" : "no room");
  }

  #reportLost(result: "dropped" | "rejected", count: number, cause: string): void {
    this.#parts.report({ kind: "spans_lost", result, count, cause, isFirst: this.#throttle.isFirst(result) });
  }
}

/** How many spans an ExportTraceServiceResponse refuses though its status is a success. Int64 is a string in JSON. */
function rejectedSpans(body = ""): number {
  const [, digits = "0"] = /"(?:rejectedSpans|rejected_spans)"\s*:\s*"?(\d{1,6})/.exec(body) ?? [];
  return Number(digits);
}

/** The OpenTelemetry conventions that define the names of attributes. */
const schemaUrl = "https://opentelemetry.io/schemas/1.37.0";
const errorStatus = 2;

/** A span as OTLP writes it in JSON (OTLP 1.x, section OTLP/HTTP): ids in hex, 64-bit integers as strings. */
export function encodeSpan(span: Span): string {
  const { traceId, spanId, parentSpanId, traceState, name, kind, startMs, endMs, attributes, links, isError } = span;
  return (
    `{"traceId":"${traceId}","spanId":"${spanId}"` +
    (parentSpanId === undefined ? "" : `,"parentSpanId":"${parentSpanId}"`) +
    (traceState === undefined ? "" : `,"traceState":${JSON.stringify(traceState)}`) +
    `,"name":${JSON.stringify(name)},"kind":${spanKinds[kind]}` +
    `,"startTimeUnixNano":"${toNanoseconds(startMs)}","endTimeUnixNano":"${toNanoseconds(Math.max(startMs, endMs))}"` +
    `,"attributes":${encodeAttributes(attributes)}` +
    (links === undefined || links.length === 0 ? "" : `,"links":[${links.map(encodeLink).join(",")}]`) +
    (isError ? `,"status":{"code":${errorStatus}}}` : "}")
  );
}

/** An ExportTraceServiceRequest of encoded spans. */
export function encodeRequest(spans: readonly string[], { resource, version }: Origin): string {
  const scope = `{"name":"countersign","version":${JSON.stringify(version)}}`;
  const scopeSpans = `{"scope":${scope},"spans":[${spans.join(",")}],"schemaUrl":"${schemaUrl}"}`;
  return `{"resourceSpans":[{"resource":{"attributes":${encodeAttributes(resource)}},"scopeSpans":[${scopeSpans}]}]}`;
}

/** Microseconds are exact enough, and a number can hold them exactly. */
function toNanoseconds(ms: number): string {
  return `${Math.round(ms * 1_000)}000`;
}

function encodeLink({ traceId, spanId }: SpanLink): string {
  return `{"traceId":"${traceId}","spanId":"${spanId}"}`;
}

/** Encodes attributes; numbers must be whole. */
function encodeAttributes(attributes: Attributes): string {
  let entries = "";
  for (const key in attributes) {
    const value = attributes[key];
    if (value === undefined) continue;
    const written = typeof value === "number" ? `{"intValue":"${value}"}` : `{"stringValue":${JSON.stringify(value)}}`;
    entries += `${entries === "" ? "" : ","}{"key":${JSON.stringify(key)},"value":${written}}`;
  }
  return `[${entries}]`;
}
