import * as z from "zod";
import { hopByHop } from "../http/headers.ts";
import type { Secret } from "../model/secret.ts";
import type { TracingConfig } from "./config.ts";
import { headerName, mapping, printable, secretSource, tlsFiles, url } from "./fields.ts";
import type { LoadContext } from "./load-context.ts";
import { loadTls } from "./tls.ts";
import { isLoopback } from "./values.ts";

const otlp = mapping("The collector, which takes OTLP over HTTP in JSON.", {
  endpoint: url("https://collector:4318/v1/traces").describe("Its whole address, `/v1/traces` included."),
  headers: z
    .record(headerName, secretSource)
    .default({})
    .describe("Headers of each export, such as an API key or a tenant: `{ file: … }` or `{ env: … }` for each."),
  tls: tlsFiles.prefault({}).describe("TLS towards the collector. Certificates are always verified."),
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

type RawTracing = z.output<typeof tracing>;

/** Headers that Countersign sets on each export. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...hopByHop,
  ...["content-encoding", "content-length", "content-type", "expect", "host"],
]);

/** Visible ASCII, with blanks between (RFC 9110 section 5.5). */
const headerValue = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Variables that name a collector for OpenTelemetry's SDKs. */
const variables = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/** @param context of `tracing` */
export async function loadTracing(
  raw: RawTracing | undefined,
  context: LoadContext,
): Promise<TracingConfig | undefined> {
  if (raw === undefined) {
    warnOfVariable(context);
    return undefined;
  }
  const { otlp, sampleRatio, serviceName, resource, propagate } = raw;
  const at = context.in("otlp");
  const { endpoint } = otlp;
  if (endpoint.path === "") {
    at.in("endpoint").report("the address has no path", `write the whole address, like ${endpoint.origin}/v1/traces`);
  }
  if (endpoint.scheme === "http" && !isLoopback(endpoint)) {
    const message = "spans and headers for the collector go over the network in plain text";
    at.in("endpoint").warn("spans_in_plain_text", message, "use https://, or a collector on loopback");
  }
  const headers = await loadHeaders(otlp.headers, at.in("headers"));
  const tls = await loadTls(otlp.tls, at.in("tls"));
  return { endpoint, headers, tls, sampleRatio, serviceName, resource, propagate };
}

async function loadHeaders(raw: RawTracing["otlp"]["headers"], context: LoadContext): Promise<Map<string, Secret>> {
  const headers = new Map<string, Secret>();
  for (const [given, source] of Object.entries(raw)) {
    const at = context.in(given);
    const name = given.toLowerCase();
    if (ownHeaders.has(name)) at.report("this header is set by Countersign", "remove it", "hidden");
    if (headers.has(name)) at.report("the header is given twice", "keep one of them", "hidden");
    const value = await at.loadSecret(source);
    if (value === undefined) continue;
    if (!headerValue.test(value.reveal())) {
      at.report("this is no value of a header: one line of printable ASCII", "write the value alone", "hidden");
    }
    headers.set(name, value);
  }
  return headers;
}

/** Only the configuration says what leaves this process and where it goes. */
function warnOfVariable(context: LoadContext): void {
  const name = variables.find((each) => context.state.dependencies.env[each] !== undefined);
  if (name === undefined) return;
  const fix = "write tracing: { otlp: { endpoint: https://collector:4318/v1/traces } }, or unset it";
  context.warn("otel_endpoint_unused", `${name} is set, and not used: tracing is turned on in this file only`, fix);
}
