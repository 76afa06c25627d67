import { Counter, type LabelValues, type MetricValueWithName } from "prom-client";

/**
 * A counter whose series can be held. prom-client hashes the labels at each `inc`; a series that is held is counted by itself, and
 * handed over when the counter is read.
 */
export class SeriesCounter<Label extends string> extends Counter<Label> {
  readonly #held: CounterSeries<Label>[] = [];

  /** Each call makes another one, which lives as long as the counter: the caller keeps it. It appears with its first count. */
  series(labels: LabelValues<Label>): CounterSeries<Label> {
    const series = new CounterSeries(this, labels);
    this.#held.push(series);
    return series;
  }

  override get() {
    for (const series of this.#held) series.handOver();
    return super.get();
  }
}

/** One series of a counter. */
export class CounterSeries<Label extends string> {
  readonly #counter: Counter<Label>;
  readonly #labels: LabelValues<Label>;
  #count = 0;

  constructor(counter: Counter<Label>, labels: LabelValues<Label>) {
    this.#counter = counter;
    this.#labels = labels;
  }

  inc(): void {
    this.#count += 1;
  }

  handOver(): void {
    if (this.#count > 0) this.#counter.inc(this.#labels, this.#count);
    this.#count = 0;
  }
}

interface HistogramConfig<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}

/** A histogram for prom-client's registry whose series can be held. prom-client's own hashes the labels of each value. */
export class SeriesHistogram<Label extends string> {
  readonly type = "histogram";
  readonly aggregator = "sum";
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  readonly #buckets: readonly number[];
  readonly #series = new Map<string, HistogramSeries>();

  constructor({ name, help, labelNames, buckets }: HistogramConfig<Label>) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
    this.#buckets = buckets;
  }

  /** The series of these labels, which appears with its first call, at 0. */
  series(labels: Readonly<Record<Label, string>>): HistogramSeries {
    const key = JSON.stringify(this.labelNames.map((name) => labels[name]));
    const series = this.#series.get(key) ?? new HistogramSeries(this.name, labels, this.#buckets);
    this.#series.set(key, series);
    return series;
  }

  /** What prom-client's registry reads. */
  async get() {
    const { name, help, type, aggregator } = this;
    const values = [...this.#series.values()].flatMap((series) => series.read());
    return { name, help, type, aggregator, values };
  }
}

/** A request whose value fell into a bucket (OpenMetrics 1.0, section Exemplars). */
export interface Exemplar {
  readonly traceId: string;
  readonly spanId: string;
  /** By the wall clock, in milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/** A sample as it is written; a bucket may have the last exemplar with its value. */
export type HistogramSample = MetricValueWithName<string> & {
  readonly exemplar?: (Exemplar & { readonly value: number }) | undefined;
};

/** One series of a histogram. */
export class HistogramSeries {
  readonly #bounds: readonly number[];
  /** By bucket; the last is beyond all bounds. */
  readonly #counts: number[];
  #sum = 0;
  readonly #samples: MetricValueWithName<string>[];
  /** By bucket; undefined until there is one. */
  #exemplars: HistogramSample["exemplar"][] | undefined;

  constructor(name: string, labels: Readonly<Record<string, string>>, bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = [...bounds, 0].fill(0);
    this.#samples = [
      ...[...bounds, "+Inf"].map((le) => ({ metricName: `${name}_bucket`, labels: { le, ...labels }, value: 0 })),
      { metricName: `${name}_sum`, labels, value: 0 },
      { metricName: `${name}_count`, labels, value: 0 },
    ];
  }

  observe(value: number, exemplar?: Exemplar): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
    if (exemplar === undefined) return;
    this.#exemplars ??= [];
    this.#exemplars[bucket] = { ...exemplar, value };
  }

  /** Its samples as they are written: buckets that add up, then sum and count. */
  read(): HistogramSample[] {
    let count = 0;
    const values = this.#counts.map((inBucket) => {
      count += inBucket;
      return count;
    });
    values.push(this.#sum, count);
    const exemplars = this.#exemplars;
    if (exemplars === undefined)
      return this.#samples.map((sample, index) => ({ ...sample, value: values[index] ?? 0 }));
    return this.#samples.map((sample, index) => ({ ...sample, value: values[index] ?? 0, exemplar: exemplars[index] }));
  }
}

/** Label values of an event. */
type Values = readonly (string | number | undefined)[];

/** A tree of maps, one level for each value: no key is made of the values to find what belongs to them. */
interface Level<Found> {
  found: Found | undefined;
  readonly next: Map<Values[number], Level<Found>>;
}

/**
 * Makes something for each combination of label values, once.
 * @param make for values that come from the configuration or a short list, since what it made is kept
 */
export function onceForEach<Labels extends Values, Found>(make: (...values: Labels) => Found) {
  const root: Level<Found> = { found: undefined, next: new Map() };
  return (...values: Labels): Found => {
    let level = root;
    for (const value of values) {
      let next = level.next.get(value);
      if (next === undefined) {
        next = { found: undefined, next: new Map() };
        level.next.set(value, next);
      }
      level = next;
    }
    level.found ??= make(...values);
    return level.found;
  };
}
