import { setImmediate as nextTurn } from "node:timers/promises";
import { type Metric, type MetricObject, type OpenMetricsContentType, Registry } from "prom-client";

/** The text formats that Prometheus reads. */
export type ExpositionFormat = "text" | "openmetrics";

export const contentTypes: Readonly<Record<ExpositionFormat, string>> = {
  text: Registry.PROMETHEUS_CONTENT_TYPE,
  openmetrics: Registry.OPENMETRICS_CONTENT_TYPE,
};

/** Writes all metrics in a text format, one at a time: prom-client's `metrics()` lets no request in between. */
export async function writeExposition(registry: Registry, format: ExpositionFormat): Promise<string> {
  const source = format === "text" ? registry : asOpenMetrics(registry);
  const written: string[] = [];
  for (const { name } of source.getMetricsAsArray()) {
    written.push(await source.getSingleMetricAsString(name));
    await nextTurn();
  }
  return `${written.join("\n")}\n${format === "openmetrics" ? "# EOF\n" : ""}`;
}

/** prom-client's types leave out that every metric can be read. */
type Readable = MetricObject & Pick<Metric, "get">;

/**
 * The same metrics in a registry of their own, where the names of counters have no suffix. A registry that changes its
 * content type takes it off the metrics themselves, for good.
 */
function asOpenMetrics(registry: Registry): Pick<Registry, "getMetricsAsArray" | "getSingleMetricAsString"> {
  const views = new Registry<OpenMetricsContentType>();
  views.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const metric of registry.getMetricsAsArray() as Readable[]) {
    const isCounter = String(metric.type) === "counter";
    const get = async () => {
      const { name, ...rest } = await metric.get();
      return { ...rest, name: isCounter ? name.replace(/_total$/, "") : name };
    };
    views.registerMetric({ name: metric.name, get } as unknown as Metric);
  }
  return views;
}
