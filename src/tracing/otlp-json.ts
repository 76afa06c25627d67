import { type Attributes, type Span, type SpanLink, spanKinds } from "./span.ts";

/** What all spans of this process have in common. */
export interface Origin {
  readonly resource: Attributes;
  /** Of Countersign. */
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
