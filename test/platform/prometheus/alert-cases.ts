import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** Where the cases are: a file for each alert. */
export const folder = "test/platform/prometheus/alerts";

/** What a file says of all its cases. Each of its other keys is a case. */
interface WrittenFile {
  readonly severity: string;
  readonly interval: string;
  /** How often the rules are evaluated, where that is not `interval`. */
  readonly evaluation_interval?: string;
  /** Those of the alert, beside its severity. */
  readonly labels?: string;
}

/** `fires at 5m` or `silent at 5m` is what holds then, `silent until 5m` what held all the time. */
const caseKey = /^(fires|silent) (at|until) (\w+), (.+)$/s;

/** The labels of a series, unless it has its own; an empty one is none. */
const pod = { namespace: "shop", job: "checkout", instance: "a" };

/**
 * The cases of an alert, as promtool reads them. A case has a line for each series; `instance="p0..5"` stands for six. Lines that
 * begin with `interval` or `labels` hold instead of the file's.
 */
export function promtoolCases(alert: string, rulesFile: string) {
  const { severity, interval, evaluation_interval = interval, labels, ...cases } = read(alert);
  const tests = Object.entries<string>(cases).map(([key, text]) => {
    const [, kind, when, eval_time, name] = caseKey.exec(key) ?? [];
    if (eval_time === undefined) throw new Error(`${alert}: cannot read the case ${key}`);
    const own = new Map([...text.matchAll(/^(interval|labels) (.+)\n/gm)].map(([, name, value]) => [name, value]));
    const series = text.replace(/^(interval|labels) .+\n/gm, "").trim();
    const firing = `ALERTS{alertname="${alert}", alertstate="firing"`;
    const { instance: _, ...shown } = pod;
    const fired = `${firing}, severity="${severity}", ${complete(own.get("labels") ?? labels, shown)}}`;
    return {
      name: `${kind}: ${name}`,
      interval: own.get("interval") ?? interval,
      input_series: series.split("\n").flatMap(readSeries),
      promql_expr_test: [
        {
          expr: when === "until" ? `last_over_time(${firing}}[2d])` : `${firing}}`,
          eval_time,
          exp_samples: kind === "fires" ? [{ labels: fired, value: 1 }] : [],
        },
      ],
    };
  });
  return { rule_files: [rulesFile], evaluation_interval, tests };
}

/** A file, or the one that it is `like`, with other words `instead`. */
function read(alert: string): WrittenFile {
  const text = readFileSync(`${folder}/${alert}.yaml`, "utf8");
  const { like, instead, ...file } = parse(text);
  if (like === undefined) return file;
  const swapped = (part: string) => instead[part] ?? part;
  return parse(readFileSync(`${folder}/${like}.yaml`, "utf8").replace(/(?<=")\w+(?=")/g, swapped));
}

function readSeries(line: string): { readonly series: string; readonly values: string }[] {
  const range = /"([a-z]+)(\d+)\.\.(\d+)"/.exec(line);
  if (range !== null) {
    const [text, name, first, last] = range;
    const numbers = Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => Number(first) + index);
    return numbers.flatMap((number) => readSeries(line.replace(text, `"${name}${number}"`)));
  }
  const [, name = "", labels, values = ""] = /^(\w+)(?:\{(.*)\})? (.+)$/.exec(line) ?? [];
  if (values === "") throw new Error(`cannot read the series ${line}`);
  return [{ series: `${name}{${complete(labels, pod)}}`, values }];
}

function complete(labels = "", defaults: Readonly<Record<string, string>>): string {
  const own = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]);
  const all = Object.entries({ ...defaults, ...Object.fromEntries(own) }).filter(([, value]) => value !== "");
  return all.map(([name, value]) => `${name}="${value}"`).join(", ");
}
