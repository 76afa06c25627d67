import { collectDefaultMetrics, type Gauge, type Registry } from "prom-client";

/** By default a timer wakes an idle process a hundred times a second to see how late it comes. */
const sampleEveryMs = 100;
/** What these metrics have in them everywhere else: the time between two samples of prom-client's own. */
const usualSampleEveryMs = 10;
const intervals = ["min", "max", "mean", "p50", "p90", "p99"];

/** Registers what prom-client tells of every process, its names and values as everywhere. */
export function registerProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: sampleEveryMs });
  const excessSeconds = (sampleEveryMs - usualSampleEveryMs) / 1_000;
  const gauges = intervals.map((name) => registry.getSingleMetric(`nodejs_eventloop_lag_${name}_seconds`) as Gauge);
  // It sets the others too; the types leave it out.
  const lag = registry.getSingleMetric("nodejs_eventloop_lag_seconds") as unknown as { collect: () => void };
  const collect = lag.collect;
  lag.collect = () => {
    collect.call(lag);
    for (const gauge of gauges) gauge.dec(excessSeconds);
  };
  for (const name of misnamed) registry.removeSingleMetric(name);
}

/** Gauges of prom-client, though `_total` is for counters; each is the sum of one that stays. */
const misnamed = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];
