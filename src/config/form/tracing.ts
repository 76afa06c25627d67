import * as z from "zod";
import { headerName, mapping, printable, secretSource, tlsFiles, url } from "./fields.ts";

const otlp = mapping("The collector, which takes OTLP over HTTP in JSON.", {
  endpoint: url("https://collector:4318/v1/traces").describe("Its whole address, `/v1/traces` included."),
  headers: z
    .record(headerName, secretSource)
    .default({})
    .describe("Headers of each export, such as an API key or a tenant."),
  tls: tlsFiles.prefault({}).describe("TLS towards the collector."),
});

export const tracing = mapping("Spans by OpenTelemetry, off without this section (docs/tracing.md).", {
  otlp,
  sampleRatio: z
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe(
      "Of the traces that begin here, how many are recorded. A caller's own trace is recorded where it says so.",
    ),
  serviceName: printable.default("countersign").describe("`service.name` of the spans."),
  resource: z
    .record(printable, z.string())
    .default({})
    .describe("Further attributes of all spans, like `deployment.environment.name`."),
  propagate: z
    .enum(["callers", "always", "never"])
    .default("callers")
    .describe(
      "Whether the service gets `traceparent`, with the span of the attempt. callers: where the caller sent one, as without tracing. always: with every request. never: with none, nor `tracestate`.",
    ),
});

export type RawTracing = z.output<typeof tracing>;
