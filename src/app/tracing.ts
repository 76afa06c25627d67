import type { Config } from "../config/config.ts";
import { fingerprint, fingerprintOf } from "../config/hash.ts";
import { credentialSetsOf, tokenUrlOf } from "../model/environment.ts";
import type { Event, Report } from "../model/events.ts";
import type { Tracer } from "../proxy/messages.ts";
import type { Dependencies } from "./dependencies.ts";
import { KeyedResources, lingerMarginMs } from "./keyed-resources.ts";
import type { SpanExport } from "./span-export.ts";

/** The tracer of each configuration that has one. */
export function openTracing(report: Report, { clock, random }: Dependencies) {
  const exports = new KeyedResources<SpanExport>(clock, { close: (each) => each.close() });
  let active: { readonly config: Config; readonly spans: SpanExport } | undefined;

  return {
    async prepare(config: Config): Promise<void> {
      const { tracing, timeouts } = config;
      if (tracing === undefined) return;
      // A process that does not trace saves its memory, and time at its start.
      const { openSpanExport } = await import("./span-export.ts");
      const open = () => openSpanExport(tracing, timeouts, { clock, random, report });
      // All that the export is made from.
      const key = fingerprint([fingerprintOf(tracing), timeouts.connectMs]);
      exports.prepare(config, key, open, timeouts.requestMs + lingerMarginMs);
    },

    commit(config: Config): void {
      const spans = exports.of(config);
      active = spans && { config, spans };
      exports.commit(config);
    },

    tracerOf: (config: Config): Tracer | undefined => exports.of(config)?.tracer,

    /** Reports the events of tokens, and records a span for each token request. */
    observeTokens: (next: Report) => (event: Event) => {
      next(event);
      if (active === undefined || event.kind !== "token_requested") return;
      const environment = active.config.environments.get(event.environment);
      const found = environment && credentialSetsOf(environment).find(({ set }) => set.label === event.credential);
      if (environment === undefined || found === undefined) return;
      active.spans.tracer.tokenRequested(event, tokenUrlOf(environment, found.set));
    },

    /** Sends what is left of the spans, within a bound. */
    close: () => exports.close(),
  };
}
