import type { TracingConfig } from "../../src/config/config.ts";
import { addressOf } from "../address.ts";
import { noTls } from "../certificates.ts";
import { startCollector } from "../collector.ts";
import { type StageOptions, startStage } from "./start.ts";

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

/** A collector that receives the spans. */
export async function tracing(more: Partial<TracingConfig> = {}, options: StageOptions = {}) {
  const collector = await startCollector();
  const to = tracingTo(collector.url, more);
  return { ...(await startStage({ ...options, config: { ...options.config, tracing: to } })), collector };
}
