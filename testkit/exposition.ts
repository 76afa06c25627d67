import { call } from "./call.ts";

type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

/** One metric with its samples; the samples of a histogram are its buckets, its sum and its count. */
export interface Family {
  readonly name: string;
  readonly type: string;
  readonly samples: readonly Sample[];
}

/** The result of a scrape. */
export interface Exposition {
  readonly text: string;
  readonly families: ReadonlyMap<string, Family>;
  /** Every series as written, without its value. */
  readonly series: ReadonlySet<string>;
  /** The value of the one series with exactly these labels; undefined if there is none. */
  value(name: string, labels?: Labels): number | undefined;
  /** The sum over the series that have at least these labels. */
  sum(name: string, labels?: Labels): number;
}

/** Scrapes `/metrics` and reads it strictly. */
export async function scrape(adminUrl: string): Promise<Exposition> {
  const { status, text } = await call(adminUrl, "", { method: "GET", path: "/metrics" });
  if (status !== 200) throw new Error(`/metrics answered ${status}`);
  return readExposition(text);
}

const helpLine = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (\S.*)$/;
const typeLine = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)$/;
/** Prometheus reads the value with Go's ParseFloat, which accepts NaN in any case; prom-client writes `Nan`. */
const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|Na[Nn])$/;
const labelPair = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/;

/**
 * Reads the text format 0.0.4 as strictly as promtool does, and more: each metric has a help and a type, its samples
 * are adjacent, no series comes twice, counters end in `_total` and histograms add up.
 * @throws Error that names the line
 */
export function readExposition(text: string): Exposition {
  if (!text.endsWith("\n")) throw new Error("the last line must end");
  const families = new Map<string, Family & { samples: Sample[] }>();
  const series = new Map<string, Sample>();
  let current: (Family & { samples: Sample[] }) | undefined;
  let help: string | undefined;
  for (const line of text.slice(0, -1).split("\n")) {
    const fail = (why: string) => new Error(`${why}: ${JSON.stringify(line)}`);
    if (line === "") continue;
    if (line.startsWith("# HELP ")) {
      help = helpLine.exec(line)?.[1];
      if (help === undefined) throw fail("not a help line");
    } else if (line.startsWith("#")) {
      const [, name = "", type = ""] = typeLine.exec(line) ?? [];
      if (name === "" || name !== help) throw fail("not a type line after its help line");
      if (families.has(name)) throw fail("described twice");
      current = { name, type, samples: [] };
      families.set(name, current);
    } else {
      const sample = readSample(line);
      if (sample === undefined) throw fail("not a sample");
      if (current === undefined || !belongs(sample, current)) throw fail("not below its own description");
      const key = keyOf(sample.name, sample.labels);
      if (series.has(key)) throw fail("the same series twice");
      series.set(key, sample);
      current.samples.push(sample);
    }
  }
  for (const family of families.values()) checkFamily(family);
  return {
    text,
    families,
    series: new Set(series.keys()),
    value: (name, labels = {}) => series.get(keyOf(name, labels))?.value,
    sum: (name, labels = {}) =>
      [...series.values()]
        .filter((one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value))
        .reduce((sum, { value }) => sum + value, 0),
  };
}

function readSample(line: string): Sample | undefined {
  const [, name, inner = "", value = ""] = sampleLine.exec(line) ?? [];
  if (name === undefined) return undefined;
  const labels: Record<string, string> = {};
  for (let rest = inner; rest !== ""; ) {
    const [pair, label, text] = labelPair.exec(rest) ?? [];
    if (pair === undefined || label === undefined || text === undefined || label in labels) return undefined;
    labels[label] = text.replace(/\\([\\"n])/g, (_, escaped) => (escaped === "n" ? "\n" : escaped));
    rest = rest.slice(pair.length);
  }
  return { name, labels, value: value.endsWith("Inf") ? Number(`${value[0]}Infinity`) : Number(value) };
}

function belongs({ name }: Sample, family: Family): boolean {
  if (family.type !== "histogram" && family.type !== "summary") return name === family.name;
  return ["_bucket", "_sum", "_count", ""].some((ending) => name === family.name + ending);
}

function checkFamily({ name, type, samples }: Family): void {
  if (type === "counter" && name.startsWith("countersign_")) {
    if (!name.endsWith("_total")) throw new Error(`${name} counts without _total`);
    if (samples.some(({ value }) => !(value >= 0))) throw new Error(`${name} is negative`);
  }
  if (type !== "histogram") return;
  const buckets = new Map<string, Sample[]>();
  for (const sample of samples.filter((one) => one.name === `${name}_bucket`)) {
    const { le: _, ...others } = sample.labels;
    const key = keyOf("", others);
    buckets.set(key, [...(buckets.get(key) ?? []), sample]);
  }
  for (const [key, group] of buckets) {
    const counts = group.map(({ value }) => value);
    if (group.at(-1)?.labels["le"] !== "+Inf") throw new Error(`${name}${key} has no last bucket`);
    if (counts.some((count, index) => count < (counts[index - 1] ?? 0))) throw new Error(`${name}${key} goes down`);
    const total = samples.find((sample) => sample.name === `${name}_count` && keyOf("", sample.labels) === key);
    if (total?.value !== counts.at(-1)) throw new Error(`${name}${key} does not add up`);
  }
}

function keyOf(name: string, labels: Labels): string {
  const pairs = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${name}{${pairs.map(([label, value]) => `${label}=${JSON.stringify(value)}`).join(",")}}`;
}
