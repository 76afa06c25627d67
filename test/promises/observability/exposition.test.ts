/** `/metrics` in both text formats of Prometheus, compressed if the scraper accepts that. Exemplars name recorded traces. */
import { gunzipSync } from "node:zlib";
import { request } from "undici";
import { describe, expect, it } from "vitest";
import { prefersGzip, prefersOpenMetrics } from "../../../src/adapters/http-server/read-only-server.ts";
import { createMetrics } from "../../../src/adapters/stats/metrics.ts";
import { writeExposition } from "../../../src/adapters/stats/series.ts";
import { call, order } from "../../../testkit/call.ts";
import { type Exposition, readExposition } from "../../../testkit/exposition.ts";
import { type Stage, stage } from "../../../testkit/stage.ts";
import { withTools } from "../../platform/kubernetes/tools.ts";
import { promtool } from "../../platform/prometheus/rules.ts";
import { startPrometheus } from "../../platform/prometheus/running-prometheus.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
const openMetrics = { accept: "application/openmetrics-text;version=1.0.0" };

/** The Accept headers of Prometheus 2.42 and 3.5. */
const prometheus2 =
  "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
const prometheus3 =
  "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";

it("answers in OpenMetrics if the scraper prefers it, and in the text format otherwise", async () => {
  const { get } = await stageServed(await stage());
  const plain = await get();
  expect(plain.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(plain.headers["content-length"]).toBe(String(plain.body.length));
  const open = await get({ accept: prometheus3 });
  expect(open.headers["content-type"]).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
  expect([plain.headers["vary"], open.headers["vary"]]).toEqual(Array(2).fill("Accept, Accept-Encoding"));
  const [one, other] = [readExposition(plain.body.toString()), readOpenMetrics(open.body.toString())];
  // The same series under the same names; those of garbage collection may appear in between.
  const ours = (series: ReadonlySet<string>) => [...series].filter((name) => name.startsWith("countersign_"));
  expect(ours(other.series)).toEqual(ours(one.series));
  expect(ours(one.series).length).toBeGreaterThan(100);
  const served = { environment: "sandbox", site: "S1000000001", auth: "oauth", operation: "create_order" };
  expect(
    other.value("countersign_requests_total", { ...served, status: "200", by: "service", outcome: "answered" }),
  ).toBe(1);
});

it("compresses a long answer if the scraper accepts gzip, to the same text", async () => {
  const { get } = await stageServed(await stage());
  const plain = await get({ "accept-encoding": "identity" });
  const packed = await get({ "accept-encoding": "gzip" });
  expect(plain.headers["content-encoding"]).toBeUndefined();
  expect(packed.headers["content-encoding"]).toBe("gzip");
  expect(packed.headers["content-length"]).toBe(String(packed.body.length));
  expect(packed.body.length * 4).toBeLessThan(plain.body.length);
  const series = (body: Buffer) =>
    [...readExposition(body.toString()).series].filter((name) => !name.includes("nodejs"));
  expect(series(gunzipSync(packed.body))).toEqual(series(plain.body));
});

it("writes what prom-client itself would write", async () => {
  const { registry, requests, requestDuration, clockSkew } = createMetrics();
  const site = { environment: 'a "b"\\c\nd', site: "S1", auth: "oauth", operation: "x" };
  requests.inc({ ...site, status: "200", by: "service", outcome: "answered" }, 3);
  requestDuration.observe({ environment: "e", operation: "x" }, 0.7);
  clockSkew.set({ environment: "e" }, Number.NEGATIVE_INFINITY);
  const ours = (text: string) => text.split("\n").filter((line) => line.includes("countersign_"));
  expect(ours(await writeExposition(registry, "text"))).toEqual(ours(await registry.metrics()));
});

it("names the span and the value of a bucket's last recorded request, in OpenMetrics only", async () => {
  const { spanId, durationMs, textOf } = await stageServed(await stage("tracing"), { traceparent });
  const lines = (await textOf(openMetrics)).split("\n").filter((line) => line.includes(" # "));
  const names = lines.map((line) => /^\w+/.exec(line)?.[0]);
  expect([...new Set(names)].sort()).toEqual([
    "countersign_overhead_seconds_bucket",
    "countersign_request_duration_seconds_bucket",
    "countersign_token_wait_duration_seconds_bucket",
    "countersign_upstream_duration_seconds_bucket",
  ]);
  const ofDuration = lines.filter((line) => line.startsWith("countersign_request_duration_seconds_bucket"));
  expect(ofDuration).toHaveLength(1);
  const form = / \d+ # \{trace_id="(\w+)",span_id="(\w+)"\} (\S+) (\d{10}(?:\.\d{1,3})?)$/;
  const [, trace, span, value, atSeconds] = form.exec(ofDuration[0] ?? "") ?? [];
  expect({ trace, span, value: Number(value) }).toEqual({ trace: traceId, span: spanId, value: durationMs / 1_000 });
  expect(Math.abs(Number(atSeconds) - Date.now() / 1_000)).toBeLessThan(60);
  expect(await textOf()).not.toContain(" # ");
});

it("names no request whose trace is not recorded, with tracing and without it", async () => {
  const unsampled = await stageServed(await stage("tracing", { sampleRatio: 0 }));
  const untraced = await stageServed(await stage(), { traceparent });
  for (const { textOf } of [unsampled, untraced]) expect(await textOf(openMetrics)).not.toContain(" # ");
});

withTools("prometheus")("is read by a real Prometheus in both formats, exemplars too", async () => {
  const { adminUrl, spanId, get, textOf } = await stageServed(await stage("tracing"), { traceparent });
  expect(promtool(["check", "metrics"], await textOf())).toEqual({ status: 0, said: "" });
  const asked = await get({ accept: prometheus2 });
  expect(asked.headers["content-type"]).toContain("openmetrics");
  const targets = [new URL(adminUrl).host];
  const prometheus = await startPrometheus([{ job_name: "countersign", static_configs: [{ targets }] }]);
  const found = (expr: string) => prometheus.query(expr).then(([series]) => Number(series?.value?.[1]));
  const patience = { timeout: 60_000, interval: 250 };
  // `up` is 1 only if Prometheus has read the whole scrape.
  await expect.poll(() => found('up{job="countersign"}'), patience).toBe(1);
  await expect.poll(() => found('sum(countersign_requests_total{status="200"})'), patience).toBe(1);
  expect(await found("sum(countersign_request_duration_seconds_count)")).toBe(1);
  // A counter without `_total` in its name would be dropped from OpenMetrics.
  const counters = asked.body.toString().match(/^countersign_\w+_total\{/gm) ?? [];
  expect(counters.length).toBeGreaterThan(50);
  const findExemplar = async () => {
    const end = Math.ceil(Date.now() / 1_000);
    const query = "countersign_request_duration_seconds_bucket";
    const [series] = await prometheus.ask("query_exemplars", { query, start: `${end - 120}`, end: `${end}` });
    return series?.exemplars[0]?.labels;
  };
  await expect.poll(findExemplar, patience).toEqual({ trace_id: traceId, span_id: spanId });
});

describe("negotiation", () => {
  it.each([
    [undefined, false],
    ["", false],
    ["identity", false],
    ["gzip", true],
    ["GZIP", true],
    ["gzip, deflate, br, zstd", true],
    ["deflate, gzip;q=1.0, *;q=0.5", true],
    ["*", true],
    ["gzip;q=0", false],
    ["gzip;q=0, *", false],
    ["gzip;q=0.000", false],
    ["gzip;q=0.4, identity;q=0.5", false],
    ["gzip ; q = 0.4 , identity;q=0.3", true],
    ["gzip;q=2", false],
    ["gzip;q=nonsense", false],
    ["br", false],
  ])("with Accept-Encoding %o packs: %o", (header, expected) => expect(prefersGzip(header)).toBe(expected));

  it.each([
    [undefined, false],
    ["*/*", false],
    ["text/plain;version=0.0.4", false],
    [prometheus2, true],
    [prometheus3, true],
    ["application/openmetrics-text", true],
    ['Application/OpenMetrics-Text; version="1.0.0"', true],
    ["application/openmetrics-text;version=0.0.1", false],
    ["application/openmetrics-text;version=1.0.0;q=0", false],
    ["application/openmetrics-text;q=0.2, text/plain;q=0.5", false],
    ["application/openmetrics-text;q=0.2, */*;q=0.1", true],
    ["text/html,application/xhtml+xml,*/*;q=0.8", false],
  ])("with Accept %o speaks OpenMetrics: %o", (header, expected) => expect(prefersOpenMetrics(header)).toBe(expected));
});

/** A stage that has served an order with these headers, and `/metrics` as it comes over the wire: `fetch` would decompress it. */
async function stageServed<S extends Stage>(staged: S, headers: Record<string, string> = {}) {
  expect((await call(staged.url, order, { headers })).status).toBe(200);
  const { spanId, durationMs } = await staged.recorder.nth("request_finished", 1);
  const get = async (headers: Record<string, string> = {}) => {
    const response = await request(`${staged.adminUrl}/metrics`, { headers });
    return { headers: response.headers, body: Buffer.from(await response.body.arrayBuffer()) };
  };
  const textOf = async (headers: Record<string, string> = {}) => (await get(headers)).body.toString();
  return { ...staged, spanId, durationMs, get, textOf };
}

/** Checks the rules of OpenMetrics 1.0.0 alone, and then those of the text format. */
function readOpenMetrics(text: string): Exposition {
  expect(text.endsWith("\n# EOF\n")).toBe(true);
  const lines = text.slice(0, -"# EOF\n".length).split("\n").slice(0, -1);
  expect(lines.filter((line) => line === "" || line.startsWith("# EOF"))).toEqual([]);
  const counters = new Set(lines.flatMap((line) => /^# TYPE (\S+) counter$/.exec(line)?.[1] ?? []));
  for (const counter of counters) expect(counter).not.toMatch(/_total$/);
  const asText = lines.map((line) => {
    const [, kind = "", name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    return counters.has(name) ? `# ${kind} ${name}_total ${rest}` : line;
  });
  return readExposition(`${asText.join("\n")}\n`);
}
