import type { MetricObject, MetricObjectWithValues, MetricValue, Registry } from "prom-client";
import type { HistogramSample } from "./series.ts";

/** The text formats that Prometheus reads. */
export type ExpositionFormat = "text" | "openmetrics";

export const contentTypes: Readonly<Record<ExpositionFormat, string>> = {
  text: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

type Value = MetricValue<string> | HistogramSample;
type Labels = Readonly<Record<string, string | number | undefined>>;

/** Series that are written before other work gets its turn: a few milliseconds' worth. */
const seriesPerSlice = 1_000;

/**
 * Writes all metrics in a text format, a slice at a time, so that no request waits for a scrape. prom-client's own writer
 * formats a metric with all its series at once, and every label anew each time.
 */
export async function writeExposition(registry: Registry, format: ExpositionFormat): Promise<string> {
  const lines: string[] = [];
  let untilPause = seriesPerSlice;
  for (const metric of registry.getMetricsAsArray()) {
    const { name, help, type, values } = await read(metric);
    const family = format === "openmetrics" && isCounter(type) ? name.replace(/_total$/, "") : name;
    lines.push(`# HELP ${family} ${escapeHelp(help, format)}`, `# TYPE ${family} ${String(type)}`);
    for (const value of values) {
      const series = "metricName" in value ? value.metricName : name;
      const exemplar = format === "openmetrics" && "exemplar" in value ? describeExemplar(value.exemplar) : "";
      lines.push(`${series}${describeLabels(value.labels)} ${describeValue(value.value)}${exemplar}`);
      untilPause -= 1;
      if (untilPause > 0) continue;
      untilPause = seriesPerSlice;
      await nextTurn();
    }
  }
  if (format === "openmetrics") lines.push("# EOF");
  return `${lines.join("\n")}\n`;
}

/** prom-client's types leave out that a metric can be read. */
function read(metric: MetricObject): Promise<MetricObjectWithValues<Value>> {
  return (metric as unknown as { get(): Promise<MetricObjectWithValues<Value>> }).get();
}

/** The types of prom-client say that it is a number, and it is a word. */
function isCounter(type: unknown): boolean {
  return type === "counter";
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A series keeps the object of its labels, so that each is written once. */
const written = new WeakMap<Labels, string>();

function describeLabels(labels: Labels): string {
  const known = written.get(labels);
  if (known !== undefined) return known;
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeText(String(value))}"`);
  const text = pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
  written.set(labels, text);
  return text;
}

function describeValue(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  return String(value);
}

/** Only OpenMetrics has exemplars. prom-client's own histograms say null where there is none. */
function describeExemplar(exemplar: HistogramSample["exemplar"] | null): string {
  if (exemplar === undefined || exemplar === null) return "";
  const { traceId, spanId, value, atMs } = exemplar;
  return ` # {trace_id="${traceId}",span_id="${spanId}"} ${describeValue(value)} ${atMs / 1_000}`;
}

function escapeText(text: string): string {
  return text.replace(/[\\\n"]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}

/** Only OpenMetrics escapes quotes there. */
function escapeHelp(text: string, format: ExpositionFormat): string {
  return format === "openmetrics" ? escapeText(text) : text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n");
}
