import { readFileSync } from "node:fs";

/** The table of all cases; its first lines explain its syntax. */
const table = readFileSync("test/platform/prometheus/alert-cases.txt", "utf8");

type Labels = Readonly<Record<string, string>>;

/** A series as promtool reads it. */
interface Written {
  readonly series: string;
  readonly values: string;
}

/** The default labels of a series; an empty label is left out. */
const pod: Labels = { namespace: "shop", job: "checkout", instance: "a" };

/** Metrics by the table's words: the name, the labels that all their series have, and those in brackets. */
const metrics = new Map(
  [...table.matchAll(/^(\w+) = (\w+)(?:\{(.*?)\})?(?: by (.+))?$/gm)].map(([, word = "", name = "", fixed, by]) => {
    return [word, { name, fixed: readLabels(fixed), by: by?.split(" ") ?? [] }] as const;
  }),
);

/** The sections of the table, by the alert's name. */
const sections = new Map(
  table
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf(":")), section]),
);

/** The alerts that have cases. */
export const tested: readonly string[] = [...sections.keys()];

/** The cases of an alert, as promtool reads them. */
export function promtoolCases(alert: string, rulesFile: string) {
  const [head = "", ...cases] = read(alert)
    .trim()
    .split(/\n(?! )/);
  const [, severity, interval, evaluation_interval = interval, labels] =
    /: (\w+) \| (\w+)(?: by (\w+))?(?: \| (.+))?$/.exec(head) ?? [];
  if (severity === undefined) throw new Error(`${alert}: cannot read ${head}`);
  const tests = cases.map((text) => {
    const [key = "", ...columns] = text.split(/\s+\| /);
    const [, kind, when, eval_time, name] = /^(fires|silent) (at|until|once until) (\w+), (.+)$/.exec(key) ?? [];
    if (eval_time === undefined) throw new Error(`${alert}: cannot read the case ${key}`);
    const own = new Map(columns.map((column) => column.split(/ (.+)/, 2) as [string, string]));
    const { instance: _, ...shown } = pod;
    const given = Object.entries({ severity, ...shown, ...readLabels(own.get("labels") ?? labels) });
    const alertLabels = Object.fromEntries(given.filter(([, value]) => value !== ""));
    const firing = `ALERTS{alertname="${alert}", alertstate="firing"`;
    const fired = `${format({ alertname: alert, alertstate: "firing", ...alertLabels })}}`;
    const states = {
      at: { expr: `${firing}}`, name: "ALERTS" },
      until: { expr: `last_over_time(${firing}}[2d])`, name: "ALERTS" },
      // The moments at which it begins to fire.
      "once until": { expr: `sum_over_time((${firing}} unless ${firing}} offset 30s)[2d:30s])`, name: "" },
    };
    const { expr, name: metric } = states[when as keyof typeof states];
    const told = [...own].filter(([key]) => /^(codes|pods|statuses|summary)$/.test(key));
    const named = { exp_labels: alertLabels, exp_annotations: Object.fromEntries(told) };
    const between = own.get("interval") ?? interval ?? "";
    const series = columns
      .filter((column) => !/^(codes|interval|labels|pods|statuses|summary) /.test(column))
      .flatMap((column) => readSeries(column, between));
    return {
      name: `${kind}: ${name}`,
      interval: between,
      input_series: oneOfEach([...series, ...oldProcessesOf(series)]),
      alert_rule_test: told.length === 0 ? [] : [{ alertname: alert, eval_time, exp_alerts: [named] }],
      promql_expr_test: [
        {
          expr,
          eval_time,
          exp_samples: kind === "fires" ? [{ labels: `${metric}{${fired}`, value: 1 }] : [],
        },
      ],
    };
  });
  return { rule_files: [rulesFile], evaluation_interval, tests };
}

/** An alert's section of the table; or the section of a similar alert, with some words replaced. */
function read(alert: string): string {
  const section = sections.get(alert) ?? "";
  const [, like, others = ""] = /: like (\w+), with (.+)$/m.exec(section) ?? [];
  if (like === undefined) return section;
  const swaps = others.split(", ").map((swap) => swap.split(" for "));
  return swaps.reduce(
    (text, [to = "", from = ""]) => text.replaceAll(new RegExp(`\\b${from}\\b`, "g"), to),
    read(like),
  );
}

function readSeries(column: string, interval: string): Written[] {
  const [, instances, every, word = "", given = "", more, values = ""] =
    /^(?:([\w.]+)(?:\/(\d+))?:)?(\w+)(?:\((.+?)\))?(?:\{(.*?)\})? (.+)$/.exec(column) ?? [];
  const metric = metrics.get(word);
  if (metric === undefined) throw new Error(`cannot read the series ${column}`);
  const { name, fixed, by } = metric;
  const own = given.split(" ").flatMap((value, index) => (value === "" ? [] : [[by[index] ?? "", value]]));
  const labels = { ...pod, ...fixed, ...Object.fromEntries(own), ...readLabels(more) };
  return expand(instances ?? pod["instance"] ?? "").flatMap((instance, index) => {
    const written = (of: string, wanted: Labels, all: string) => {
      return { series: `${of}{${format({ ...wanted, instance })}}`, values: all };
    };
    if (every === undefined) return written(name, labels, values.replaceAll(/(\d+)\.\.(\d+)x\d+/g, steps));
    const before = Number(every) * (index + 1);
    const start = before * Number.parseInt(interval, 10) * (interval.endsWith("m") ? 60 : 1) - 5;
    return [
      written(name, labels, `_x${before} ${values} stale`),
      written("process_start_time_seconds", pod, `_x${before} ${start} stale`),
    ];
  });
}

/** Every process says when it started: those of which a case does not say it have run for a day. */
function oldProcessesOf(series: readonly Written[]): Written[] {
  const podsOf = (all: readonly Written[]) => all.map(({ series: text }) => podOf(text));
  const known = podsOf(series.filter(({ series: text }) => text.startsWith("process_start_time_seconds")));
  const others = new Set(podsOf(series).filter((labels) => !known.includes(labels)));
  return [...others].map((labels) => ({ series: `process_start_time_seconds{${labels}}`, values: "-86400x3000" }));
}

/** Several metrics of a pod that was scraped once have the same start. */
function oneOfEach(all: readonly Written[]): Written[] {
  return [...new Map(all.map((each) => [each.series, each])).values()];
}

function podOf(series: string): string {
  const labels = readLabels(series);
  return format(Object.fromEntries(Object.keys(pod).map((name) => [name, labels[name] ?? ""])));
}

/** `p0..2` is p0, p1 and p2. */
function expand(text: string): string[] {
  const [, before = "", first, last] = /^(\D*)(\d+)\.\.(\d+)$/.exec(text) ?? [];
  if (first === undefined) return [text];
  return Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => `${before}${Number(first) + index}`);
}

/** `1..3x4` is `1x4 2x4 3x4`. */
function steps(text: string): string {
  const [numbers = "", times = ""] = text.split("x");
  return expand(numbers)
    .map((number) => `${number}x${times}`)
    .join(" ");
}

function readLabels(text = ""): Labels {
  return Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]));
}

function format(labels: Labels): string {
  const all = Object.entries(labels).filter(([, value]) => value !== "");
  return all.map(([name, value]) => `${name}="${value}"`).join(", ");
}
