import * as z from "zod";
import { headerName, mapping, printable, secretSource, tlsFiles, url, withDefault } from "./fields.ts";

const otlp = mapping("The collector, which takes OTLP over HTTP in JSON.", {
  endpoint: url("https://collector:4318/v1/traces").describe("Its whole address, `/v1/traces` included."),
  headers: withDefault(z.record(headerName, secretSource), {}).describe(
    "Headers of each export, such as an API key or a tenant.",
  ),
  tls: tlsFiles.prefault({}).describe("TLS towards the collector."),
});

export const tracing = mapping("Spans by OpenTelemetry, off without this section (docs/tracing.md).", {
  otlp,
  sampleRatio: withDefault(z.number().min(0).max(1), 1).describe(
    "Of the traces that begin here, how many are recorded. A caller's own trace is recorded where it says so.",
  ),
  serviceName: withDefault(printable, "countersign").describe("`service.name` of the spans."),
  resource: withDefault(z.record(printable, z.string()), {}).describe(
    "Further attributes of all spans, like `deployment.environment.name`.",
  ),
  propagate: withDefault(z.enum(["callers", "always", "never"]), "callers").describe(
    "Whether the service gets `traceparent`, with the span of the attempt. callers: where the caller sent one, as without tracing. always: with every request. never: with none, nor `tracestate`.",
  ),
});

export type RawTracing = z.output<typeof tracing>;
