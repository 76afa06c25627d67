import { randomBytes, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { Pool } from "../adapters/http-client/connection-pool.ts";
import { createPostSpans } from "../adapters/http-client/read-whole.ts";
import type { Config, TracingConfig } from "../config/config.ts";
import type { Clock } from "../model/clock.ts";
import type { Report } from "../model/events.ts";
import { SpanExporter } from "../tracing/span-exporter.ts";
import { SpanTracer } from "../tracing/tracer.ts";
import { version } from "../version.ts";

/** How long spans may take to leave when their tracer ends. */
const flushMs = 2_000;
/** Exports follow each other. */
const connections = 1;

/** Spans from their beginning to the collector. A module of its own, so that it is loaded only where tracing is configured. */
export type SpanExport = ReturnType<typeof openSpanExport>;

export function openSpanExport(
  { endpoint, headers, tls, sampleRatio, serviceName, resource, propagate }: TracingConfig,
  { connectMs: connectTimeoutMs }: Config["timeouts"],
  { clock, random, report }: { readonly clock: Clock; readonly random: () => number; readonly report: Report },
) {
  const pool = new Pool({ address: endpoint, tls, connectTimeoutMs, connections }, clock);
  const sent = [...headers].flatMap(([name, value]) => [name, value.reveal()]);
  const exporter = new SpanExporter({
    post: createPostSpans(pool, endpoint.path, sent, clock),
    origin: { resource: { ...describeProcess(), ...resource, "service.name": serviceName }, version },
    clock,
    random,
    report,
  });
  const tracer = new SpanTracer({
    clock,
    randomHex: createRandomHex(),
    record: (span) => exporter.add(span),
    sampleRatio,
    propagation: propagate,
  });
  return {
    tracer,
    /** Sends what is left. */
    async close() {
      await exporter.close(flushMs);
      await pool.destroy();
    },
  };
}

/** Names of OpenTelemetry's conventions for resources. */
function describeProcess() {
  return {
    "service.version": version,
    "service.instance.id": randomUUID(),
    "host.name": hostname(),
    "process.pid": process.pid,
    "process.runtime.name": "nodejs",
    "process.runtime.version": process.versions.node,
  };
}

/** Asking for a few bytes each time would cost more than the bytes. */
const bytesAtOnce = 4_096;

function createRandomHex(): (bytes: number) => string {
  let digits = "";
  let used = 0;
  return (bytes) => {
    if (used + 2 * bytes > digits.length) {
      digits = randomBytes(bytesAtOnce).toString("hex");
      used = 0;
    }
    used += 2 * bytes;
    return digits.slice(used - 2 * bytes, used);
  };
}
