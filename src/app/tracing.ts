import { randomBytes, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { Pool } from "../adapters/http-client/connection-pool.ts";
import { createPostSpans } from "../adapters/http-client/read-whole.ts";
import type { Config } from "../config/config.ts";
import { fingerprint, fingerprintOf } from "../config/hash.ts";
import { credentialSetsOf, tokenUrlOf } from "../model/environment.ts";
import type { Event, Report } from "../model/events.ts";
import type { Span } from "../tracing/span-exporter.ts";
import type { SpanTracer } from "../tracing/tracer.ts";
import { version } from "../version.ts";
import type { Dependencies } from "./dependencies.ts";
import { KeyedResources, lingerMarginMs } from "./keyed-resources.ts";

/** How long the last spans may take to reach the collector when their tracer ends. */
const flushMs = 2_000;
/** One is enough: exports follow each other. */
const connections = 1;

/** Makes spans, and sends them to the collector. */
interface SpanExport {
  readonly tracer: SpanTracer;
  /** Sends the remaining spans, for `flushMs` at most. */
  close(): Promise<void>;
}

/** The tracer of each configuration that has one. */
export function openTracing(report: Report, { clock, random }: Dependencies) {
  const exports = new KeyedResources<SpanExport>(clock, { close: (each) => each.close() });
  let active: Config | undefined;
  const tracerOf = (config: Config) => exports.get(keyOf(config))?.tracer;

  return {
    async prepare(config: Config): Promise<void> {
      const { tracing, timeouts } = config;
      if (tracing === undefined) return;
      // A process that does not trace saves the memory and the start time of these modules.
      const [{ SpanExporter }, { SpanTracer }] = await Promise.all([
        import("../tracing/span-exporter.ts"),
        import("../tracing/tracer.ts"),
      ]);
      const open = (): SpanExport => {
        const { endpoint, headers, tls, sampleRatio, serviceName, resource, propagate: propagation } = tracing;
        const pool = new Pool({ address: endpoint, tls, connectTimeoutMs: timeouts.connectMs, connections }, clock);
        const sent = [...headers].flatMap(([name, value]) => [name, value.reveal()]);
        const exporter = new SpanExporter({
          post: createPostSpans(pool, endpoint.path, sent, clock),
          origin: { resource: { ...describeProcess(), ...resource, "service.name": serviceName }, version },
          clock,
          random,
          report,
        });
        const record = (span: Span) => exporter.add(span);
        return {
          tracer: new SpanTracer({ clock, randomHex: createRandomHex(), record, sampleRatio, propagation }),
          async close() {
            await exporter.close(flushMs);
            await pool.destroy();
          },
        };
      };
      exports.prepare(config, keyOf(config), open, timeouts.requestMs + lingerMarginMs);
    },

    commit(config: Config): void {
      active = config;
      exports.commit(config);
    },

    tracerOf,

    /** Reports the events of tokens, and records a span for each token request. */
    observeTokens: (next: Report) => (event: Event) => {
      next(event);
      if (event.kind !== "token_requested") return;
      const environment = active?.environments.get(event.environment);
      const found = environment && credentialSetsOf(environment).find(({ set }) => set.label === event.credential);
      if (active === undefined || environment === undefined || found === undefined) return;
      tracerOf(active)?.tokenRequested(event, tokenUrlOf(environment, found.set));
    },

    close: () => exports.close(),
  };
}

/** A fingerprint of everything that an export is made from. */
function keyOf({ tracing, timeouts }: Config): string {
  return tracing === undefined ? "" : fingerprint([fingerprintOf(tracing), timeouts.connectMs]);
}

/** Attributes of the process, named by OpenTelemetry's conventions for resources. */
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

/** Drawn in advance: a call for a few bytes takes longer than making many. */
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
