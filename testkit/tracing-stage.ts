import type { TracingConfig } from "../src/config/config.ts";
import { addressOf } from "./address.ts";
import { noTls } from "./certificates.ts";
import { type Collector, startCollector } from "./collector.ts";
import { type Stage, type StageOptions, stageProxy } from "./stage.ts";

/** The loaded form of `tracing: { otlp: { endpoint } }`. */
export function tracingTo(endpoint: string, more: Partial<TracingConfig> = {}): TracingConfig {
  return {
    endpoint: addressOf(endpoint),
    headers: new Map(),
    tls: noTls,
    sampleRatio: 1,
    serviceName: "countersign",
    resource: {},
    propagate: "callers",
    ...more,
  };
}

export interface TracingStage extends Stage {
  readonly collector: Collector;
}

/** The whole proxy, with a collector that receives its spans. */
export async function stageTracing(
  more: Partial<TracingConfig> = {},
  options: StageOptions = {},
): Promise<TracingStage> {
  const collector = await startCollector();
  const tracing = tracingTo(collector.url, more);
  const stage = await stageProxy({ ...options, config: { ...options.config, tracing } });
  return { ...stage, collector };
}
