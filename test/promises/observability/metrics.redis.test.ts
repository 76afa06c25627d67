/** Product section 5: every metric with exactly its labels, and every configured series at 0 before the first request. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createMetrics } from "../../../src/adapters/stats/metrics.ts";
import type { Config } from "../../../src/config/config.ts";
import { failures, requestFailureCodes } from "../../../src/model/errors.ts";
import { cacheResults, lockResults } from "../../../src/model/events.ts";
import { redisFailures } from "../../../src/model/redis-access.ts";
import { version } from "../../../src/version.ts";
import { call } from "../../../testkit/call.ts";
import { readExposition } from "../../../testkit/exposition.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt } from "../../../testkit/redis-replica.ts";
import { bothSite, childSite, hmacSite, oauthSite, stage } from "../../../testkit/stage.ts";

const environment = "sandbox";

/** Each metric with its labels in order, as docs/reference/metrics.md has them. */
const page = readFileSync("docs/reference/metrics.md", "utf8");
const wanted = Object.fromEntries(
  [...page.matchAll(/^\* `(countersign_\w+)`, \w+((?: `\w+`)*): /gm)].map(([, name = "", labels = ""]) => [
    name,
    labels.match(/\w+/g)?.sort() ?? [],
  ]),
);

it("has every metric of the list, with exactly its labels, and no other of ours", async () => {
  const redis = accessTo(nodeAt((await startRedis()).port));
  const { url, metrics, recorder } = await stageQuiet({ tokens: { cache: "redis", redis } });
  await call(url, "{}");
  await recorder.nth("request_finished", 1);
  const { families } = await metrics();
  const ours = [...families.values()].filter(({ name }) => name.startsWith("countersign_"));
  const withoutBounds = (names: readonly string[]) => names.filter((name) => name !== "le").sort();
  for (const { name, samples } of ours) {
    for (const { labels } of samples) {
      expect({ [name]: withoutBounds(Object.keys(labels)) }).toEqual({ [name]: wanted[name] });
    }
  }
  // Some metrics have no series before something happens.
  expect(ours.map(({ name }) => name).sort()).toEqual(Object.keys(wanted).sort());
  // biome-ignore lint/suspicious/noExplicitAny: the types of prom-client leave its labels out
  const described = createMetrics().registry.getMetricsAsArray() as any[];
  const declared = described
    .filter(({ name }) => name.startsWith("countersign_"))
    .map(({ name, labelNames }) => [name, withoutBounds(labelNames)]);
  expect(Object.fromEntries(declared)).toEqual(wanted);
  expect(families.has("process_resident_memory_bytes")).toBe(true);
});

it("has series of Redis only if Redis is in use, one for each kind of failure", async () => {
  const redis = accessTo(nodeAt((await startRedis()).port));
  const used = await (await stageQuiet({ tokens: { cache: "redis", redis } })).metrics();
  expect(used.value("countersign_redis_up", { node: "cache" })).toBe(1);
  for (const kind of redisFailures) {
    expect(used.value("countersign_redis_errors_total", { node: "cache", kind })).toBe(0);
  }
  for (const result of cacheResults) {
    expect(used.value("countersign_token_cache_total", { tier: "redis", result })).toBeDefined();
  }
  const unused = await (await stageQuiet()).metrics();
  expect([...unused.series].filter((series) => series.includes("redis"))).toEqual([]);
});

/** docs/reference/metrics.md lists them too. */
it("starts every counter that alerts use at 0", async () => {
  const { value } = await (await stageQuiet()).metrics();
  const zero = (name: string, labels: Record<string, string>) =>
    expect({ name, labels, value: value(name, labels) }).toEqual({ name, labels, value: 0 });

  zero("countersign_requests_in_flight", { environment });
  for (const auth of ["oauth", "hmac"]) {
    for (const status_class of ["2xx", "3xx", "4xx", "5xx"]) {
      zero("countersign_answers_total", { environment, auth, by: "service", status_class });
    }
  }
  for (const auth of ["oauth", "hmac", "none"]) {
    for (const status_class of ["4xx", "5xx"]) {
      zero("countersign_answers_total", { environment, auth, by: "countersign", status_class });
    }
  }
  for (const site of [oauthSite, childSite, hmacSite, bothSite, "none"]) {
    zero("countersign_unknown_outcomes_total", { environment, site });
  }
  for (const site of [oauthSite, childSite, bothSite, "none"]) {
    for (const code of ["credentials_refused", "token_unavailable"]) {
      zero("countersign_failures_total", { environment, site, code, outcome: "not_sent" });
    }
  }
  for (const code of requestFailureCodes) {
    for (const outcome of failures[code].outcomes) {
      zero("countersign_failures_total", { environment, site: "none", code, outcome });
    }
  }
  const spare = { environment, credential: `${oauthSite}/green` };
  zero("countersign_token_requests_total", { ...spare, result: "issued" });
  for (const result of cacheResults) zero("countersign_token_cache_total", { tier: "memory", result });
  for (const result of lockResults.filter((result) => result !== "acquired")) {
    zero("countersign_refresh_lock_total", { result });
  }
  for (const result of ["applied", "refused"]) zero("countersign_config_reloads_total", { result });
});

it("starts durations at 0 too, but has no series by site and status before the first request", async () => {
  const { families, value } = await (await stageQuiet()).metrics();
  for (const operation of ["create_order", "get_order", "other", "none"]) {
    for (const name of ["countersign_request_duration_seconds", "countersign_overhead_seconds"]) {
      expect(value(`${name}_count`, { environment, operation })).toBe(0);
    }
  }
  expect(value("countersign_upstream_duration_seconds_count", { environment, operation: "create_order" })).toBe(0);
  expect(value("countersign_token_wait_duration_seconds_count", { environment })).toBe(0);
  for (const name of [
    "countersign_requests_total",
    "countersign_upstream_unauthorized_total",
    "countersign_retries_total",
    "countersign_refresh_suppressed_total",
    "countersign_caller_requests_total",
  ]) {
    expect(families.get(name)?.samples).toEqual([]);
  }
});

it("says which version and configuration are running", async () => {
  const { config, metrics } = await stageQuiet();
  const { families, value } = await metrics();
  expect(value("countersign_config_info", { hash: config.hash })).toBe(1);
  const [build] = families.get("countersign_build_info")?.samples ?? [];
  expect(build).toMatchObject({ value: 1, labels: { version, node: process.version } });
});

it("is accepted by a parser that is as strict as Prometheus", () => {
  const good = '# HELP a_total Help.\n# TYPE a_total counter\na_total{x="\\"q\\\\\\n"} 1\n';
  expect(readExposition(good).value("a_total", { x: '"q\\\n' })).toBe(1);
  for (const bad of [
    good.slice(0, -1),
    good.replace("# HELP a_total Help.\n", ""),
    good.replace(" counter", " thing"),
    `${good}a_total{x="\\"q\\\\\\n"} 2\n`,
    `${good}b_total 1\n`,
    `${good}a_total{x="1",x="2"} 1\n`,
    `${good}a_total{x=1} 1\n`,
    `${good}a_total 1,5\n`,
    '# HELP h H.\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n',
  ]) {
    expect(() => readExposition(bad), bad).toThrow();
  }
});

/** A quiet proxy: its warm-up is over, and no request has come. */
async function stageQuiet(config: Partial<Config> = {}) {
  const staged = await stage({ withBoth: true, config });
  await staged.recorder.nth("token_adopted", 2);
  return staged;
}
