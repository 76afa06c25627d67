/** Row 84: exemplars of duration histograms name recorded traces, in OpenMetrics only. */
import { expect, it } from "vitest";
import { createCounting } from "../../../src/adapters/stats/counting.ts";
import { writeExposition } from "../../../src/adapters/stats/exposition.ts";
import { createMetrics } from "../../../src/adapters/stats/metrics.ts";
import { RecentRequests } from "../../../src/adapters/stats/recent-requests.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { call, order } from "../../../testkit/call.ts";
import { finishedRequest } from "../../../testkit/finished-request.ts";
import { stageProxy } from "../../../testkit/stage.ts";
import { stageTracing } from "../../../testkit/tracing-stage.ts";
import { withTools } from "../../platform/kubernetes/tools.ts";
import { startPrometheus } from "../../platform/prometheus/running-prometheus.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
const openMetrics = { accept: "application/openmetrics-text;version=1.0.0" };

async function scrape(adminUrl: string, headers: Record<string, string> = {}): Promise<string> {
  return (await fetch(`${adminUrl}/metrics`, { headers })).text();
}

it("gives the last recorded request of a bucket with its span and its own value", async () => {
  const { url, adminUrl, recorder } = await stageTracing();
  await call(url, order, { headers: { traceparent } });
  const { spanId, durationMs } = await recorder.nth("request_finished", 1);
  const text = await scrape(adminUrl, openMetrics);
  const lines = text.split("\n").filter((line) => line.includes(" # "));
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
  expect(await scrape(adminUrl)).not.toContain(" # ");
});

it("has none of requests whose trace is not recorded, with tracing and without it", async () => {
  const { url, adminUrl, recorder } = await stageTracing({ sampleRatio: 0 });
  await call(url);
  await recorder.nth("request_finished", 1);
  expect(await scrape(adminUrl, openMetrics)).not.toContain(" # ");
  const without = await stageProxy();
  await call(without.url, order, { headers: { traceparent } });
  await without.recorder.nth("request_finished", 1);
  expect(await scrape(without.adminUrl, openMetrics)).not.toContain(" # ");
});

it("changes no byte of the text format", async () => {
  const write = async (spanId: string | undefined) => {
    const metrics = createMetrics();
    createCounting(metrics, () => new RecentRequests(), systemClock)(finishedRequest({ traceId, spanId }));
    const text = await writeExposition(metrics.registry, "text");
    return text.split("\n").filter((line) => line.startsWith("countersign_"));
  };
  expect(await write("00f067aa0ba902b7")).toEqual(await write(undefined));
});

withTools("prometheus")("is what a real Prometheus stores as exemplars", async () => {
  const { url, adminUrl, recorder } = await stageTracing();
  await call(url, order, { headers: { traceparent } });
  const { spanId } = await recorder.nth("request_finished", 1);
  const targets = [new URL(adminUrl).host];
  const prometheus = await startPrometheus([{ job_name: "countersign", static_configs: [{ targets }] }]);
  const query = "countersign_request_duration_seconds_bucket";
  const find = async () => {
    const end = Math.ceil(Date.now() / 1_000);
    const [series] = await prometheus.ask("query_exemplars", { query, start: `${end - 120}`, end: `${end}` });
    return series?.exemplars[0]?.labels;
  };
  const patience = { timeout: 60_000, interval: 250 };
  await expect.poll(find, patience).toEqual({ trace_id: traceId, span_id: spanId });
});
