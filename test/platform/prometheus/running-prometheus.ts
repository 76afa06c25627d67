import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { startProgram } from "../../../testkit/run-program.ts";
import { rulesFile } from "./rules.ts";

/** One series of a result: its labels, and its value or values. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

export interface RunningPrometheus {
  /** `data` of an answer of the API. @throws Error with Prometheus's message if it refuses */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever it answered
  ask(path: string, parameters?: Readonly<Record<string, string>>): Promise<any>;
  /** The series that an expression has now. */
  query(expr: string): Promise<readonly Series[]>;
  /** The same over the last two minutes, in steps of a second. */
  queryRange(expr: string): Promise<readonly Series[]>;
}

/** The interval of scrapes and evaluations. An evaluation that a busy machine makes late misses the first zero of a new counter. */
export const scrapeSeconds = 2;

/** The shipped rules, evaluated as often as the tests scrape: the interval is in `countersign:counted` too. */
function oftenEvaluated(): string {
  return readFileSync(rulesFile, "utf8").replaceAll(/(interval:|offset) 30s/g, `$1 ${scrapeSeconds}s`);
}

/**
 * A real Prometheus with our rules, which scrapes by these `scrape_configs` and stores exemplars. It ends with the test.
 * @param changed replaced keys of its configuration, and further arguments
 */
export async function startPrometheus(
  scrapes: readonly object[],
  changed: object = {},
  args: readonly string[] = [],
): Promise<RunningPrometheus> {
  const folder = emptyFolder();
  const file = join(folder, "prometheus.json");
  const rules = join(folder, "rules.yaml");
  writeFileSync(rules, oftenEvaluated());
  const configuration = {
    global: { scrape_interval: `${scrapeSeconds}s`, evaluation_interval: `${scrapeSeconds}s` },
    rule_files: [rules],
    scrape_configs: scrapes,
    ...changed,
  };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(configuration));
  const address = `127.0.0.1:${await freePort()}`;
  const place = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, "data")}`,
    `--web.listen-address=${address}`,
    "--enable-feature=exemplar-storage",
    ...args,
  ];
  startProgram("prometheus", place);
  await untilReady(address);

  const ask: RunningPrometheus["ask"] = async (path, parameters = {}) => {
    const answer = await fetch(`http://${address}/api/v1/${path}?${new URLSearchParams(parameters)}`);
    const { status, data, error } = (await answer.json()) as { status: string; data: unknown; error?: string };
    if (status !== "success") throw new Error(error);
    return data;
  };
  return {
    ask,
    query: async (expr) => (await ask("query", { query: expr })).result,
    queryRange: async (expr) => {
      const end = Date.now() / 1_000;
      return (await ask("query_range", { query: expr, start: `${end - 120}`, end: `${end}`, step: `${scrapeSeconds}` }))
        .result;
    },
  };
}

/** Resolves when a program of the Prometheus project answers at this address. */
export async function untilReady(address: string): Promise<void> {
  const ready = () => fetch(`http://${address}/-/ready`).then(({ ok }) => ok, String);
  await expect.poll(ready, { timeout: 20_000 }).toBe(true);
}
