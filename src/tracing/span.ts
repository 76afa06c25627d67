/** Values of attributes; one that is undefined is left out. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** As OTLP numbers them. */
const spanKinds = { internal: 1, server: 2, client: 3 } as const;

/** Another span that a span has to do with. */
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
  /** By the wall clock, in milliseconds since the Unix epoch; fractions count. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly links?: readonly SpanLink[];
  readonly isError: boolean;
}

/** Takes complete spans. It never throws and never waits. */
export type RecordSpan = (span: Span) => void;

/** What all spans of this process have in common. */
export interface Origin {
  readonly resource: Attributes;
  /** Countersign's version. */
  readonly version: string;
}

/** The conventions that the names of attributes are from. */
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

/** Microseconds are enough, and as a number of them the time is exact. */
function toNanoseconds(ms: number): string {
  return `${Math.round(ms * 1_000)}000`;
}

function encodeLink({ traceId, spanId }: SpanLink): string {
  return `{"traceId":"${traceId}","spanId":"${spanId}"}`;
}

/** Numbers are whole. */
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
