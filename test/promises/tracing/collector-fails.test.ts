/** Whatever the collector does, requests are served as without it, and the process ends in time. */
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { startCollector } from "../../../testkit/collector.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { listen } from "../../../testkit/listen.ts";
import { tracingTo } from "../../../testkit/stage/tracing.ts";
import { stage } from "../../../testkit/stage.ts";
import { hmacSite, startPod } from "../reload/pod.ts";

const signed = { "Countersign-Site": hmacSite };
const tracing = (endpoint: string) => ({ settings: { more: `tracing: { otlp: { endpoint: "${endpoint}" } }` } });

it("flushes on SIGTERM, before a second has gathered more", async () => {
  const collector = await startCollector();
  const pod = await startPod(tracing(collector.url));
  expect(collector.requests).toEqual([]);
  expect((await pod.order(signed)).status).toBe(200);
  expect(await pod.program.stop()).toBe(0);
  const [line] = pod.lines("request_finished");
  expect(line).toMatchObject({ traceId: expect.any(String), spanId: expect.any(String) });
  const ofOrder = collector.spans().filter(({ traceId }) => traceId === line.traceId);
  expect(ofOrder.map(({ kind }) => kind).sort()).toEqual(["client", "server"]);
  expect(pod.program.stderr()).toBe("");
});

it("serves while the collector hangs, ends within its bound of 2 s, and says what was lost", async () => {
  const port = await listen(createServer((socket) => void socket.resume().on("error", () => {})));
  const pod = await startPod(tracing(`http://127.0.0.1:${port}/v1/traces`));
  for (let n = 0; n < 5; n++) expect((await pod.order(signed)).status).toBe(200);
  const askedMs = performance.now();
  expect(await pod.program.stop()).toBe(0);
  // The bound of 2 s, and the rest for a busy machine.
  expect(performance.now() - askedMs).toBeLessThan(10_000);
  expect(pod.lines("spans_lost")).toEqual([
    expect.objectContaining({ level: "warn", result: "dropped", cause: "the end" }),
  ]);
  expect(pod.lines("spans_lost")[0].count).toBeGreaterThanOrEqual(10);
  expect(pod.lines("stopped")).toEqual([expect.objectContaining({ drained: true })]);
});

it("serves while there is no collector, and sends the spans once there is one", async () => {
  const port = await freePort();
  const pod = await startPod(tracing(`http://127.0.0.1:${port}/v1/traces`));
  expect((await pod.order(signed)).status).toBe(200);
  expect(await pod.nth("spans_delayed", 1)).toMatchObject({ level: "warn", cause: "ECONNREFUSED", isFirst: true });
  const collector = await startCollector(port);
  const spans = await collector.atLeast(2);
  const [{ traceId }] = pod.lines("request_finished");
  expect(spans.filter((span) => span.traceId === traceId)).toHaveLength(2);
  await expect
    .poll(async () => (await pod.metrics()).value("countersign_trace_spans_total", { result: "exported" }))
    .toBeGreaterThanOrEqual(2);
});

it("changes to another collector with a reload, and sends the first one the spans from before", async () => {
  const { url, proxy, reload, collector, recorder } = await stage("tracing");
  await call(url, order, { headers: signed });
  const second = await startCollector();
  await reload({ tracing: tracingTo(second.url) });
  await call(url, order, { headers: signed });
  const [before, after] = await Promise.all([1, 2].map((n) => recorder.nth("request_finished", n)));
  await proxy.stop("test");
  const traces = ({ spans }: typeof second) => spans().map(({ traceId }) => traceId);
  expect(traces(collector)).toContain(before?.traceId);
  expect(traces(collector)).not.toContain(after?.traceId);
  expect(traces(second)).toContain(after?.traceId);
});

it("stops with a reload, and requests have no spans any more", async () => {
  const { url, reload, recorder } = await stage("tracing");
  await reload({ tracing: undefined });
  await call(url, order, { headers: signed });
  expect(await recorder.nth("request_finished", 1)).not.toHaveProperty("spanId");
});
