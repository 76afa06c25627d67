import { setImmediate as nextTurn } from "node:timers/promises";
import { Counter, Histogram, type Metric, type MetricObject, type OpenMetricsContentType, Registry } from "prom-client";

/** A detail is a label that `/status` has and metrics have not; it may be undefined. */
type Labels<Label extends string, Detail extends string = never> = Readonly<Record<Label, string>> &
  Readonly<Partial<Record<Detail, string | undefined>>>;

/** The description of a metric, and the registry that has it. */
interface About<Label extends string> {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
}

/** How often something happened since the start of the process, and when last. */
export interface Series<Own extends object = object> {
  readonly labels: Own;
  readonly count: number;
  /** By the wall clock; undefined where `/status` does not show it. */
  readonly lastMs: number | undefined;
}

/** Replaces the name of each site and credential set if metrics do not name them. */
export const allSites = "all";

/**
 * prom-client's counter, of which metrics show sums: over details, and over sites and credential sets unless they are named.
 * @param namesSites read at each scrape; if false, all sites and credential sets are shown as `all`
 */
export function createCounter<Label extends string, Detail extends string = never>(
  { registry, ...about }: About<Label>,
  details: readonly Detail[] = [],
  namesSites = () => true,
) {
  type Own = Labels<Label, Detail>;
  const { labelNames } = about;
  const allNames = [...labelNames, ...details];
  const counter = new Counter<string>({ ...about, labelNames: allNames, registers: [] });
  const lastTimes = new Map<string, number>();
  const read = async () => (await counter.get()).values as { readonly labels: Own; readonly value: number }[];

  let isNamed = namesSites();
  let shownOf = createShownLabels(labelNames, isNamed);
  const shown = { ...about, type: "counter" };
  const get = async () => {
    if (isNamed !== namesSites()) {
      isNamed = namesSites();
      shownOf = createShownLabels(labelNames, isNamed);
    }
    const held = await read();
    const isSum = details.length > 0 || !isNamed;
    const values = isSum ? addUp(held, shownOf) : held;
    return { ...shown, values: values.map(({ labels, value }) => ({ labels: {}, sharedLabels: labels, value })) };
  };
  // prom-client's types demand its own classes; its registry needs these fields only.
  registry.registerMetric({ ...shown, get } as unknown as Metric);

  return {
    /** For what happens often, or whose last time is shown: the labels are made once. The series appears with its first count. */
    series(labels: Own) {
      const key = keyOf(allNames, labels);
      return {
        /** @param atMs by the wall clock */
        inc(atMs: number): void {
          counter.inc(labels);
          lastTimes.set(key, atMs);
        },
      };
    },

    /** For rare events, whose last time is not shown. */
    inc: (labels: Own, times?: number) => counter.inc(labels, times),

    /** The series that have counted. */
    async counted(): Promise<Series<Own>[]> {
      const some = (await read()).filter(({ value }) => value > 0);
      return some.map(({ labels, value }) => {
        return { labels, count: value, lastMs: lastTimes.get(keyOf(allNames, labels)) };
      });
    },

    /** Makes a series of each combination of these values: they are shown at 0. */
    start(values: Readonly<Record<Label, string | readonly string[]>>): void {
      let combinations: Record<string, string>[] = [{}];
      const isNamed = namesSites();
      for (const name of labelNames) {
        const some = new Set([values[name]].flat().map((value) => shownValue(name, value, isNamed)));
        combinations = combinations.flatMap((labels) => [...some].map((value) => ({ ...labels, [name]: value })));
      }
      for (const labels of combinations) counter.inc(labels, 0);
    },
  };
}

function addUp<Shown extends object>(
  series: readonly { readonly labels: Shown; readonly value: number }[],
  shownOf: (labels: Shown) => Shown,
) {
  const sums = new Map<Shown, number>();
  for (const { labels, value } of series) {
    const shown = shownOf(labels);
    sums.set(shown, (sums.get(shown) ?? 0) + value);
  }
  return [...sums].map(([labels, value]) => ({ labels, value }));
}

/** The labels of a series as metrics show them: the same object for equal labels, which prom-client makes into text once. */
function createShownLabels<Label extends string>(labelNames: readonly Label[], namesSites: boolean) {
  const byValues = new Map<string, Labels<Label>>();
  const byLabels = new Map<Labels<Label>, Labels<Label>>();
  return (labels: Labels<Label>) =>
    getOrMake(byLabels, labels, () => {
      const shown = Object.fromEntries(labelNames.map((name) => [name, shownValue(name, labels[name], namesSites)]));
      return getOrMake(byValues, keyOf(labelNames, shown), () => shown as Labels<Label>);
    });
}

function shownValue(name: string, value: string, namesSites: boolean): string {
  const isOfSite = (name === "site" && value !== "none") || name === "credential";
  return isOfSite && !namesSites ? allSites : value;
}

/**
 * prom-client's histogram, whose buckets name a request each in OpenMetrics (section Exemplars).
 * @param bounds upper bounds of its buckets, ascending
 */
export function createHistogram<Label extends string>({ registry, ...about }: About<Label>, bounds: readonly number[]) {
  const { labelNames } = about;
  const settings = { ...about, labelNames: [...labelNames], buckets: [...bounds], enableExemplars: true };
  const histogram = new Histogram<string>({ ...settings, registers: [] });
  // A registry of the text format, which leaves exemplars out, is refused by the constructor only.
  registry.registerMetric(histogram);
  const started = new Set<string>();
  return {
    /** @param exemplarLabels name the request; undefined unless its trace is recorded */
    observe(labels: Labels<Label>, value: number, exemplarLabels?: Labels<string>): void {
      histogram.observe(exemplarLabels === undefined ? { labels, value } : { labels, value, exemplarLabels });
    },

    /** Makes a series at 0, once: prom-client's `zero` sets one that has counted back. */
    start(labels: Labels<Label>): void {
      const key = keyOf(labelNames, labels);
      if (!started.has(key)) histogram.zero(labels);
      started.add(key);
    },
  };
}

function keyOf(names: readonly string[], labels: Readonly<Record<string, string | undefined>>): string {
  return JSON.stringify(names.map((name) => labels[name]));
}

/** The map's value for a key, made if it is missing. */
export function getOrMake<Key, Made>(all: Map<Key, Made>, key: Key, make: () => Made): Made {
  const known = all.get(key);
  if (known !== undefined) return known;
  const made = make();
  all.set(key, made);
  return made;
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
type Readable = Metric & MetricObject;

/**
 * The same metrics in a registry of their own, where the names of counters have no suffix. A registry that changes its
 * content type removes the suffix from the metrics themselves, for good.
 */
function asOpenMetrics(registry: Registry): Pick<Registry, "getMetricsAsArray" | "getSingleMetricAsString"> {
  const views = new Registry<OpenMetricsContentType>();
  views.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const metric of registry.getMetricsAsArray() as Readable[]) {
    views.registerMetric(String(metric.type) === "counter" ? withoutSuffix(metric) : metric);
  }
  return views;
}

function withoutSuffix(counter: Readable): Metric {
  const get = async () => {
    const { name, ...rest } = await counter.get();
    return { ...rest, name: name.replace(/_total$/, "") };
  };
  return { name: counter.name, get } as unknown as Metric;
}
