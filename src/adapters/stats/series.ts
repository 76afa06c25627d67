import { setImmediate as nextTurn } from "node:timers/promises";
import { type Metric, type MetricObject, type OpenMetricsContentType, Registry } from "prom-client";

/** A detail is a label that `/status` has and metrics have not; it may be undefined. */
type Labels<Label extends string, Detail extends string = never> = Readonly<Record<Label, string>> &
  Readonly<Partial<Record<Detail, string | undefined>>>;

/** A sample as prom-client writes it. Shared labels are made into text once. */
interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly sharedLabels: Labels<string>;
  readonly value: number;
  readonly exemplar?: (Exemplar & { readonly value: number }) | undefined;
}

/** A request whose value fell into a bucket (OpenMetrics 1.0, section Exemplars), as prom-client writes it. */
export interface Exemplar {
  readonly labelSet: Readonly<Record<string, string>>;
  /** In seconds of Unix time. */
  readonly timestamp: number;
}

/** The description of a metric, and the registry that has it. */
interface About<Label extends string> {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
}

/** Registers a metric that is read at each scrape. prom-client's types demand its own classes; its registry needs these fields only. */
function register(type: string, { registry, ...rest }: About<string>, read: () => readonly Sample[]): void {
  const about = { type, ...rest };
  registry.registerMetric({ ...about, get: async () => ({ ...about, values: read() }) } as unknown as Metric);
}

/** How often something happened, and when last. Code that counts often keeps a reference to it. */
export class Series<Own extends object = object> {
  readonly labels: Own;
  /** Since the start of the process, as metrics have it. */
  count = 0;
  /** By the wall clock. */
  lastMs: number | undefined;

  constructor(labels: Own) {
    this.labels = labels;
  }

  /** @param atMs by the wall clock */
  inc(atMs?: number, times = 1): void {
    this.count += times;
    this.lastMs = atMs;
  }
}

/** Replaces the name of each site and credential set if metrics do not name them. */
export const allSites = "all";

/**
 * A counter whose series can be kept by reference. prom-client's own makes a key of the labels at each `inc`.
 * @param namesSites read at each scrape; if false, metrics add up the series of all sites and credential sets, under `all`
 */
export function createCounter<Label extends string, Detail extends string = never>(
  about: About<Label>,
  details: readonly Detail[] = [],
  namesSites = () => true,
) {
  type Own = Labels<Label, Detail>;
  const { labelNames } = about;
  const all = new Map<string, Series<Own>>();
  /** Series that differ only in their details are one series in metrics. */
  const shown = new Map<string, { readonly sharedLabels: Labels<string>; readonly parts: Series[] }>();
  let isNamed = namesSites();
  register("counter", about, () => {
    if (isNamed !== namesSites()) {
      isNamed = namesSites();
      shown.clear();
      for (const each of all.values()) show(each);
    }
    return [...shown.values()].map(({ sharedLabels, parts }) => {
      return { labels: {}, sharedLabels, value: parts.reduce((sum, { count }) => sum + count, 0) };
    });
  });
  const labelOf = (name: string, value: string) => {
    const isOfSite = (name === "site" && value !== "none") || name === "credential";
    return isOfSite && !isNamed ? allSites : value;
  };
  const show = (made: Series<Own>) => {
    const sharedLabels = Object.fromEntries(labelNames.map((name) => [name, labelOf(name, made.labels[name])]));
    getOrMake(shown, keyOf(labelNames, sharedLabels), () => ({ sharedLabels, parts: [] })).parts.push(made);
  };
  /** The series of these labels, which appears with its first call, at 0. */
  const series = (labels: Own) =>
    getOrMake(all, keyOf([...labelNames, ...details], labels), () => {
      const made = new Series(labels);
      show(made);
      return made;
    });

  return {
    series,
    /** The series that have counted since the start of the process. */
    counted: () => [...all.values()].filter(({ count }) => count > 0),
    /** For rare events, whose last time is not shown. */
    inc: (labels: Own, times = 1) => series(labels).inc(undefined, times),

    /** Makes a series of each combination of these values: they are shown at 0. */
    start(values: Readonly<Record<Label, string | readonly string[]>>): void {
      let combinations: Record<string, string>[] = [{}];
      for (const name of labelNames) {
        const some = new Set([values[name]].flat().map((value) => labelOf(name, value)));
        combinations = combinations.flatMap((labels) => [...some].map((value) => ({ ...labels, [name]: value })));
      }
      for (const labels of combinations) series(labels as Own);
    },
  };
}

function keyOf(names: readonly string[], labels: Readonly<Record<string, string | undefined>>): string {
  return JSON.stringify(names.map((name) => labels[name]));
}

/** The map's value for a key, made if it is missing. */
export function getOrMake<Made>(all: Map<string, Made>, key: string, make: () => Made): Made {
  const made = all.get(key) ?? make();
  all.set(key, made);
  return made;
}

/**
 * A histogram whose series can be kept by reference. prom-client's own makes a key of the labels of each value.
 * @param bounds upper bounds of its buckets, ascending
 */
export function createHistogram<Label extends string>(about: About<Label>, bounds: readonly number[]) {
  const all = new Map<string, HistogramSeries>();
  register("histogram", about, () => [...all.values()].flatMap((series) => series.read()));
  return {
    /** The series of these labels, which appears with its first call, at 0. */
    series: (labels: Labels<Label>): HistogramSeries =>
      getOrMake(all, keyOf(about.labelNames, labels), () => new HistogramSeries(about.name, labels, bounds)),
  };
}

class HistogramSeries {
  readonly #name: string;
  readonly #sharedLabels: Labels<string>;
  readonly #bounds: readonly number[];
  /** By bucket; the last is beyond all bounds. */
  readonly #counts: number[];
  #sum = 0;
  /** The last exemplar of each bucket. */
  readonly #exemplars: Sample["exemplar"][] = [];

  constructor(name: string, labels: Labels<string>, bounds: readonly number[]) {
    this.#name = name;
    this.#sharedLabels = labels;
    this.#bounds = bounds;
    this.#counts = [...bounds, 0].fill(0);
  }

  /** @returns the index of the first bound that is not exceeded; beyond all bounds, the number of bounds */
  observe(value: number, exemplar?: Exemplar): number {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
    if (exemplar !== undefined) this.#exemplars[bucket] = { ...exemplar, value };
    return bucket;
  }

  /** The samples as they are written: cumulative buckets, then sum and count. */
  read(): Sample[] {
    const sharedLabels = this.#sharedLabels;
    const sample = (suffix: string, value: number) => ({
      metricName: `${this.#name}_${suffix}`,
      labels: {},
      sharedLabels,
      value,
    });
    let count = 0;
    const buckets = this.#counts.map((inBucket, index) => {
      count += inBucket;
      const labels = { le: this.#bounds[index] ?? "+Inf" };
      return { ...sample("bucket", count), labels, exemplar: this.#exemplars[index] };
    });
    return [...buckets, sample("sum", this.#sum), sample("count", count)];
  }
}

/** Label values of an event. */
type Values = readonly (string | number | boolean | object | undefined)[];

/** A tree of maps, one level for each value: a look-up needs no key made of the values. */
interface Level<Found> {
  found?: Found;
  next?: Map<Values[number], Level<Found>>;
}

/**
 * Makes something for each combination of label values, once.
 * @param make only for values that come from the configuration or a short list, since all results are kept
 */
export function onceForEach<Labels extends Values, Found>(make: (...values: Labels) => Found) {
  const root: Level<Found> = {};
  return (...values: Labels): Found => {
    let level = root;
    for (const value of values) {
      level.next ??= new Map();
      let next = level.next.get(value);
      if (next === undefined) {
        next = {};
        level.next.set(value, next);
      }
      level = next;
    }
    level.found ??= make(...values);
    return level.found;
  };
}

/** The text formats that Prometheus reads. */
export type ExpositionFormat = "text" | "openmetrics";

export const contentTypes: Readonly<Record<ExpositionFormat, string>> = {
  text: Registry.PROMETHEUS_CONTENT_TYPE,
  openmetrics: Registry.OPENMETRICS_CONTENT_TYPE,
};

/** Writes all metrics in a text format, one at a time, so that requests run in between: prom-client's `metrics()` blocks them. */
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
 * content type removes the suffix from the metrics themselves, for good.
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
