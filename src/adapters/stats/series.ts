import type { Metric, Registry } from "prom-client";

/** A detail is a label that `/status` has and metrics have not; it may be undefined. */
type Labels<Label extends string, Detail extends string = never> = Readonly<Record<Label, string>> &
  Readonly<Partial<Record<Detail, string | undefined>>>;

/** A sample as prom-client writes it. Labels that are shared are made into text once. */
interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly sharedLabels: Labels<string>;
  value: number;
  readonly exemplar?: (Exemplar & { readonly value: number }) | undefined;
}

/** A request whose value fell into a bucket (OpenMetrics 1.0, section Exemplars), as prom-client writes it. */
export interface Exemplar {
  readonly labelSet: Readonly<Record<string, string>>;
  /** In seconds of Unix time. */
  readonly timestamp: number;
}

/** Has prom-client's registry read it at each scrape. Its types allow its own classes only; it asks for no more than this. */
export function register<Own extends { read(): readonly Sample[] }>(
  registry: Registry,
  about: {
    readonly type: string;
    readonly name: string;
    readonly help: string;
    readonly labelNames: readonly string[];
  },
  metric: Own,
): Own {
  registry.registerMetric({ ...about, get: async () => ({ ...about, values: metric.read() }) } as unknown as Metric);
  return metric;
}

/** How often something happened, and when last. Code that counts often keeps a reference to it. */
export class Series<Own extends object = object> {
  readonly labels: Own;
  /** Since the start of the process, as metrics have it. */
  count = 0;
  /** By the wall clock; undefined where it has not happened since it was forgotten. */
  lastMs: number | undefined;
  readonly #sample: Sample;
  #forgotten = 0;

  /** @param sample that of all series which differ in their details only */
  constructor(labels: Own, sample: Sample) {
    this.labels = labels;
    this.#sample = sample;
  }

  /** The count without what was forgotten, as `/status` has it. */
  get kept(): number {
    return this.count - this.#forgotten;
  }

  /** @param atMs by the wall clock */
  inc(atMs?: number, times = 1): void {
    this.count += times;
    this.#sample.value += times;
    this.lastMs = atMs;
  }

  forget(): void {
    this.#forgotten = this.count;
    this.lastMs = undefined;
  }
}

/** Stands for each site, and for each credential set, where metrics do not name them. */
export const allSites = "all";

/** A counter whose series can be held. prom-client's own makes a key of the labels at each `inc`. */
export class SeriesCounter<Label extends string, Detail extends string = never> {
  readonly #labelNames: readonly Label[];
  readonly #details: readonly Detail[];
  readonly #namesSites: () => boolean;
  readonly #series = new Map<string, Series<Labels<Label, Detail>>>();
  readonly #samples = new Map<string, Sample>();

  /** @param namesSites otherwise series of single sites, and of their credential sets, are details of one of `all` */
  constructor(labelNames: readonly Label[], details: readonly Detail[] = [], namesSites = () => true) {
    this.#labelNames = labelNames;
    this.#details = details;
    this.#namesSites = namesSites;
  }

  /** The series of these labels, which appears with its first call, at 0. */
  series(labels: Labels<Label, Detail>): Series<Labels<Label, Detail>> {
    return getOrMake(this.#series, keyOf([...this.#labelNames, ...this.#details], labels), () => {
      const sharedLabels = Object.fromEntries(this.#labelNames.map((name) => [name, this.#show(name, labels[name])]));
      const makeSample = () => ({ labels: {}, sharedLabels, value: 0 });
      return new Series(labels, getOrMake(this.#samples, keyOf(this.#labelNames, sharedLabels), makeSample));
    });
  }

  #show(name: string, value: string): string {
    const isOfSite = (name === "site" && value !== "none") || name === "credential";
    return isOfSite && !this.#namesSites() ? allSites : value;
  }

  /** Makes a series of each combination of these values: they are shown at 0. */
  start(values: Readonly<Record<Label, string | readonly string[]>>): void {
    let all: Record<string, string>[] = [{}];
    for (const name of this.#labelNames) {
      const some = [values[name]].flat();
      all = all.flatMap((labels) => some.map((value) => ({ ...labels, [name]: value })));
    }
    for (const labels of all) this.series(labels as Labels<Label, Detail>);
  }

  /** For what is counted seldom, and whose last time nobody asks for. */
  inc(labels: Labels<Label, Detail>, times = 1): void {
    this.series(labels).inc(undefined, times);
  }

  /** The series that have counted since the start of the process. */
  counted(): Series<Labels<Label, Detail>>[] {
    return [...this.#series.values()].filter(({ count }) => count > 0);
  }

  /** The same, without those that were forgotten since. */
  kept(): Series<Labels<Label, Detail>>[] {
    return this.counted().filter(({ kept }) => kept > 0);
  }

  /** `/status` begins anew with what is not configured any more. Metrics go on. */
  keepOnly(isConfigured: (labels: Labels<Label, Detail>) => boolean): void {
    for (const series of this.#series.values()) if (!isConfigured(series.labels)) series.forget();
  }

  read(): Sample[] {
    return [...this.#samples.values()];
  }
}

function keyOf(names: readonly string[], labels: Readonly<Record<string, string | undefined>>): string {
  return JSON.stringify(names.map((name) => labels[name]));
}

/** What a map has of a key, made where it has none. */
export function getOrMake<Made>(all: Map<string, Made>, key: string, make: () => Made): Made {
  const made = all.get(key) ?? make();
  all.set(key, made);
  return made;
}

/** A histogram whose series can be held. prom-client's own makes a key of the labels of each value. */
export class SeriesHistogram<Label extends string> {
  readonly #name: string;
  readonly #labelNames: readonly Label[];
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, HistogramSeries>();

  /** @param bounds upper bounds of its buckets, ascending */
  constructor(name: string, labelNames: readonly Label[], bounds: readonly number[]) {
    this.#name = name;
    this.#labelNames = labelNames;
    this.#bounds = bounds;
  }

  /** The series of these labels, which appears with its first call, at 0. */
  series(labels: Labels<Label>): HistogramSeries {
    const make = () => new HistogramSeries(this.#name, labels, this.#bounds);
    return getOrMake(this.#series, keyOf(this.#labelNames, labels), make);
  }

  read(): Sample[] {
    return [...this.#series.values()].flatMap((series) => series.read());
  }
}

/** One series of a histogram. */
class HistogramSeries {
  readonly #name: string;
  readonly #sharedLabels: Labels<string>;
  readonly #bounds: readonly number[];
  /** By bucket; the last is beyond all bounds. */
  readonly #counts: number[];
  #sum = 0;
  /** The last of each bucket. */
  readonly #exemplars: Sample["exemplar"][] = [];

  constructor(name: string, labels: Labels<string>, bounds: readonly number[]) {
    this.#name = name;
    this.#sharedLabels = labels;
    this.#bounds = bounds;
    this.#counts = [...bounds, 0].fill(0);
  }

  /** @returns the index of the first bound that is not exceeded; beyond all bounds their number */
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

/** A tree of maps, one level for each value: no key is made of the values to find what belongs to them. */
interface Level<Found> {
  found?: Found;
  next?: Map<Values[number], Level<Found>>;
}

/**
 * Makes something for each combination of label values, once.
 * @param make for values that come from the configuration or a short list, since what it made is kept
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
