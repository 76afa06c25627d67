/** Prometheus and Alertmanager: each alert fires and resolves by scraped metrics, and one outage is reported once. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, it } from "vitest";
import { emptyFolder } from "../../testkit/empty-folder.ts";
import { freePort } from "../../testkit/free-port.ts";
import { listen } from "../../testkit/listen.ts";
import { startProgram, versionOf } from "../../testkit/run-program.ts";
import { promtoolCases, tested } from "../platform/prometheus/alert-cases.ts";
import { groups } from "../platform/prometheus/rules.ts";
import { startPrometheus, untilReady } from "../platform/prometheus/running-prometheus.ts";
import { tryWith } from "./try-with.ts";

/** Seconds of the rules and of the cases per second of the clock: eight hours pass in two minutes. */
const haste = 240;
/** Interval of scrapes and of rule evaluations. */
const step = "30s";
const seconds = { s: 1, m: 60, h: 3_600, d: 86_400 };

const hasten = (text: string) =>
  text.replaceAll(/(?:\d+[smhd])+/g, (duration) => `${(secondsOf(duration) * 1_000) / haste}ms`);

/** The shipped rules with every range, offset and `for` divided by `haste`; `time()` is that of the play. */
const hastenedRules = {
  groups: groups.map(({ name, rules }) => ({
    name,
    rules: rules.map((rule) => ({
      ...rule,
      expr: rule.expr.replaceAll(/\[\w+(:\w+)?\]|offset \w+/g, hasten).replaceAll("time()", "scalar(played_seconds)"),
      ...(rule.for && { for: hasten(rule.for) }),
    })),
  })),
};

/** The values of these metrics when all is well again. */
const healthy: Readonly<Record<string, number>> = {
  up: 1,
  countersign_build_info: 1,
  countersign_redis_up: 1,
  countersign_config_last_reload_successful: 1,
  countersign_requests_in_flight: 0,
  countersign_clock_skew_seconds: 0,
  countersign_certificate_expiry_timestamp_seconds: 1e7,
  countersign_assertion_expiry_timestamp_seconds: 1e7,
  countersign_bridge_active: 0,
  countersign_site_files_refused: 0,
  countersign_token_expiry_timestamp_seconds: 1e6,
};

/** Counters of successes then grow by ten a minute; other counters do not change. */
const isGood = (series: string) =>
  /result="(recorded|delivered|opened|exported)"|by="service".*status_class="2|status="2.*by="service"/.test(series);

const [prometheus, alertmanager] = ["prometheus", "prometheus-alertmanager"].map((program) =>
  versionOf(/version ([\d.]+)/, program, "--version"),
);

/** A case of an alert that another alert reports instead; and that other alert. */
const outages = [
  ["CountersignServiceFails", "every order is answered 401", "CountersignUnauthorized"],
  ["CountersignServiceFailsOften", "an outage that a page has told of is over", "CountersignServiceFails"],
  ["CountersignRequestsRefused", "an outage that a page has told of is over", "CountersignServiceFails"],
] as const;

tryWith("Prometheus with Alertmanager", prometheus && alertmanager && `${prometheus}/${alertmanager}`, () => {
  it(`each of ${tested.length} alerts fires by scraped metrics and is resolved when all is well, with one notification for each`, async () => {
    const { told, active } = await play(tested.map((alert) => caseOf(alert, "fires:", alert)));
    const tellingOf = (alert: string) =>
      told.filter(({ labels: { alertname, namespace } }) => alertname === alert && namespace === alert);
    const statuses = () => tested.map((alert) => [alert, ...tellingOf(alert).map(({ status }) => status)].join(" "));
    await expect
      .poll(statuses, { timeout: 200_000, interval: 250 })
      .toEqual(tested.map((alert) => `${alert} firing resolved`));
    await expect.poll(active).toEqual([]);
    expect(JSON.stringify(told)).not.toMatch(/<error|no value/);
  }, 240_000);

  it("an outage that several alerts could report is reported by one of them, once, even within the next three hours", async () => {
    const { told, second } = await play(outages.map(([alert, words]) => caseOf(alert, words, alert)));
    await expect.poll(second, { timeout: 120_000, interval: 250 }).toBeGreaterThan(secondsOf("5h"));
    const firing = told.filter(({ status }) => status === "firing");
    const tellers = firing.map(({ labels: { alertname, namespace } }) => `${namespace}: ${alertname}`);
    expect(tellers.sort()).toEqual(outages.map(([alert, , teller]) => `${alert}: ${teller}`).sort());
  });
});

function secondsOf(text: string) {
  return [...text.matchAll(/(\d+)([smhd])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * seconds[unit as keyof typeof seconds],
    0,
  );
}

interface Case {
  /** The namespace of the case's series: the rules keep cases apart by it. */
  readonly namespace: string;
  readonly endSeconds: number;
  /** Lines of the exposition at this second of the play. */
  at(second: number): string[];
}

/** The first promtool case of an alert whose name contains these words. */
function caseOf(alert: string, words: string, namespace: string): Case {
  const found = promtoolCases(alert, "").tests.find(({ name }) => name.includes(words));
  if (found === undefined) throw new Error(`${alert} has no case with ${words}`);
  const interval = secondsOf(found.interval ?? "");
  const all = found.input_series.map(({ series, values }) => {
    return { series: series.replace('"shop"', `"${namespace}"`), values: valuesOf(values) };
  });
  const events = all.filter(({ series }) => !series.startsWith("process_start_time_seconds"));
  const endSeconds = Math.max(...events.map(({ values }) => values.length)) * interval;
  const valueAt = (series: string, values: readonly (number | undefined)[], second: number) => {
    const value = values[Math.min(Math.floor(second / interval), values.length - 1)];
    if (second < endSeconds) return value;
    const since = isGood(series) ? Math.floor((second - endSeconds) / 6) : 0;
    return healthy[series.replace(/\{.*/, "")] ?? (value === undefined ? undefined : value + since);
  };
  return {
    namespace,
    endSeconds,
    at: (second) =>
      all.flatMap(({ series, values }) => {
        const value = valueAt(series, values, second);
        return value === undefined ? [] : `${series} ${value}\n`;
      }),
  };
}

/** Expands promtool's notation: `1+2x2` is 1 3 5, `_x2` is nothing twice, and `stale` nothing once. */
function valuesOf(text: string): (number | undefined)[] {
  return text.split(" ").flatMap((term) => {
    const [, first = "", step = "0", times = "0"] = /^(_|stale|-?[\d.]+)([+-][\d.]+)?(?:x(\d+))?$/.exec(term) ?? [];
    if (first === "") throw new Error(`cannot read ${term} in ${text}`);
    if (first === "_") return Array(Math.max(1, Number(times))).fill(undefined);
    if (first === "stale") return [undefined];
    return Array.from({ length: Number(times) + 1 }, (_, index) => Number(first) + index * Number(step));
  });
}

interface Told {
  readonly status: "firing" | "resolved";
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Prometheus scrapes the metrics of all these cases at once, and Alertmanager notifies a receiver of the test. */
async function play(cases: readonly Case[]) {
  const told: Told[] = [];
  const receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    told.push(...JSON.parse(Buffer.concat(chunks).toString()).alerts);
    response.end();
  });
  // The play begins with the first scrape.
  let beginMs: number | undefined;
  const second = () => (beginMs === undefined ? 0 : ((Date.now() - beginMs) * haste) / 1_000);
  const played = createServer((_, response) => {
    beginMs ??= Date.now();
    const now = second();
    response.setHeader("content-type", "text/plain; version=0.0.4");
    response.end(`played_seconds ${now}\n${cases.flatMap((one) => one.at(now)).join("")}`);
  });
  const alertmanager = await startAlertmanager(await listen(receiver));
  const rules = join(emptyFolder(), "rules.json");
  writeFileSync(rules, JSON.stringify(hastenedRules));
  const every = hasten(step);
  await startPrometheus(
    [
      {
        job_name: "played",
        honor_labels: true,
        scrape_timeout: every,
        static_configs: [{ targets: [`127.0.0.1:${await listen(played)}`] }],
      },
    ],
    {
      global: { scrape_interval: every, evaluation_interval: every, scrape_timeout: every },
      rule_files: [rules],
      alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
    },
    [`--query.lookback-delta=${hasten("5m")}`],
  );
  const active = () => fetch(`http://${alertmanager}/api/v2/alerts`).then((answer) => answer.json());
  return { told, second, active };
}

/** An Alertmanager that reports each alert separately, at once, and again when it is over. */
async function startAlertmanager(receiverPort: number): Promise<string> {
  const folder = emptyFolder();
  const file = join(folder, "alertmanager.json");
  const webhook = { url: `http://127.0.0.1:${receiverPort}`, send_resolved: true };
  const route = {
    receiver: "test",
    group_by: ["..."],
    group_wait: "0s",
    group_interval: "100ms",
    repeat_interval: "1h",
  };
  writeFileSync(file, JSON.stringify({ route, receivers: [{ name: "test", webhook_configs: [webhook] }] }));
  const address = `127.0.0.1:${await freePort()}`;
  const place = [`--config.file=${file}`, `--storage.path=${folder}`, `--web.listen-address=${address}`];
  startProgram("prometheus-alertmanager", [...place, "--cluster.listen-address="]);
  await untilReady(address);
  return address;
}
