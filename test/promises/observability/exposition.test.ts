/** `/metrics` in both text formats of Prometheus, packed where that is asked for. */
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { prefersGzip, prefersOpenMetrics } from "../../../src/adapters/http-server/read-only-server.ts";
import { writeExposition } from "../../../src/adapters/stats/exposition.ts";
import { createMetrics } from "../../../src/adapters/stats/metrics.ts";
import { call, order } from "../../../testkit/call.ts";
import { type Exposition, readExposition } from "../../../testkit/exposition.ts";
import { stageProxy } from "../../../testkit/stage.ts";
import { withTools } from "../../platform/kubernetes/tools.ts";
import { startPrometheus } from "../../platform/prometheus/running-prometheus.ts";
import { promtool } from "../../platform/prometheus/tools.ts";

/** What Prometheus 2.42 and 3.5 send. */
const prometheus2 =
  "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
const prometheus3 =
  "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";

async function stageServed() {
  const stage = await stageProxy();
  expect((await call(stage.url, order)).status).toBe(200);
  await stage.recorder.nth("request_finished", 1);
  const get = (headers: Record<string, string> = {}) => fetchRaw(`${stage.adminUrl}/metrics`, headers);
  return { ...stage, get };
}

/** As it comes over the wire: `fetch` would unpack it. */
async function fetchRaw(url: string, headers: Record<string, string>) {
  const { request } = await import("node:http");
  return new Promise<{ headers: NodeJS.Dict<string | string[]>; body: Buffer }>((resolve, reject) => {
    request(url, { headers, agent: false }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve({ headers: response.headers, body: Buffer.concat(chunks) });
    })
      .on("error", reject)
      .end();
  });
}

/** OpenMetrics 1.0.0 by its own rules, and the rest by those of the text format. */
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

it("answers in OpenMetrics where a scraper asks for it, and in the text format otherwise", async () => {
  const { get } = await stageServed();
  const plain = await get();
  expect(plain.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  const open = await get({ accept: prometheus3 });
  expect(open.headers["content-type"]).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
  expect([plain.headers["vary"], open.headers["vary"]]).toEqual(Array(2).fill("Accept, Accept-Encoding"));
  const [one, other] = [readExposition(plain.body.toString()), readOpenMetrics(open.body.toString())];
  // The same series under the same names; garbage is collected at any time.
  const ours = (series: ReadonlySet<string>) => [...series].filter((name) => name.startsWith("countersign_"));
  expect(ours(other.series)).toEqual(ours(one.series));
  expect(ours(one.series).length).toBeGreaterThan(100);
  const served = { environment: "sandbox", site: "S1000000001", auth: "oauth", operation: "create_order" };
  expect(
    other.value("countersign_requests_total", { ...served, status: "200", by: "service", outcome: "answered" }),
  ).toBe(1);
});

it("packs what is long where gzip is asked for, to the same text", async () => {
  const { get } = await stageServed();
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
  const labels = {
    environment: 'a "b"\\c\nd',
    site: "S1",
    auth: "oauth",
    operation: "x",
    status: "200",
    by: "service",
    outcome: "answered",
  };
  requests.inc(labels, 3);
  requestDuration.series({ environment: "e", operation: "x" }).observe(0.7);
  clockSkew.set({ environment: "e" }, Number.NEGATIVE_INFINITY);
  const ours = (text: string) => text.split("\n").filter((line) => line.includes("countersign_"));
  expect(ours(await writeExposition(registry, "text"))).toEqual(ours(await registry.metrics()));
});

withTools("prometheus")("is read by a real Prometheus in both formats", async () => {
  const { adminUrl, get } = await stageServed();
  const { text } = await call(adminUrl, "", { method: "GET", path: "/metrics" });
  expect(promtool(["check", "metrics"], text)).toEqual({ status: 0, said: "" });
  expect((await get({ accept: prometheus2 })).headers["content-type"]).toContain("openmetrics");
  const targets = [new URL(adminUrl).host];
  const prometheus = await startPrometheus([{ job_name: "countersign", static_configs: [{ targets }] }]);
  const found = (expr: string) => prometheus.query(expr).then(([series]) => Number(series?.value?.[1]));
  const patience = { timeout: 60_000, interval: 250 };
  // The clock of its own parser says whether a scrape was read as a whole.
  await expect.poll(() => found('up{job="countersign"}'), patience).toBe(1);
  await expect.poll(() => found('sum(countersign_requests_total{status="200"})'), patience).toBe(1);
  expect(await found("sum(countersign_request_duration_seconds_count)")).toBe(1);
  // What is no counter by name would be dropped from OpenMetrics.
  const { body } = await get({ accept: prometheus2 });
  const counters = body.toString().match(/^countersign_\w+_total\{/gm) ?? [];
  expect(counters.length).toBeGreaterThan(50);
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
