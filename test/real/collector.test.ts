/** The OpenTelemetry Collector: the spans that it writes down, and that its failures do not affect orders. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { call, order } from "../../testkit/call.ts";
import { type CollectedSpan, readExport } from "../../testkit/collector.ts";
import { ConfigFolder } from "../../testkit/config-folder.ts";
import { freePort } from "../../testkit/free-port.ts";
import { residentBytes } from "../../testkit/process-use.ts";
import { type Program, startProgram, versionOf } from "../../testkit/run-program.ts";
import { runDoctor } from "../promises/cli/doctor-runs.ts";
import { hmacSite, type Pod, startPod } from "../promises/reload/pod.ts";
import { tools, tryWith } from "./try-with.ts";

const program = join(tools, "otelcol-0.165.0/otelcol");
const bearer = "a-bearer-token-of-the-collector";
const callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const callersSpan = "00f067aa0ba902b7";

/** OpenTelemetry's conventions for HTTP spans: types of attributes, and the required attributes of each kind of span. */
const types: Readonly<Record<string, "string" | "number">> = {
  "http.request.method": "string",
  "http.request.body.size": "number",
  "http.request.resend_count": "number",
  "http.response.status_code": "number",
  "http.response.body.size": "number",
  "http.route": "string",
  "url.scheme": "string",
  "url.path": "string",
  "url.full": "string",
  "url.template": "string",
  "server.address": "string",
  "server.port": "number",
  "client.address": "string",
  "error.type": "string",
};
const required = {
  server: [
    "http.request.method",
    "url.scheme",
    "url.path",
    "server.address",
    "server.port",
    "http.response.status_code",
  ],
  client: ["http.request.method", "url.full", "server.address", "server.port"],
  internal: [],
} as const;

/** At two spans an order, more than the 2,048 spans that may wait. */
const orders = 1_500;
const mostWaiting = 2_048;

tryWith("OpenTelemetry Collector", versionOf(/version ([\d.]+)/, program, "--version"), () => {
  it("with the header from a file it accepts each span once, and names, types, kinds, parents and errors follow the conventions for HTTP", async () => {
    const collector = await prepareCollector();
    await collector.start();
    const pod = await startTracingPod(collector);
    const { simulator } = pod;
    const signed = { "Countersign-Site": hmacSite };
    await call(pod.url, order, { headers: { ...signed, traceparent: `00-${callersTrace}-${callersSpan}-01` } });
    simulator.faults.add({ host: "api", kind: "answer", status: 500 });
    await pod.order(signed);
    simulator.faults.add({ host: "api", kind: "reset", when: "after_reading" });
    await pod.order(signed);
    await call(pod.url, "{", { headers: signed });
    simulator.revokeAllTokens();
    expect((await pod.order()).headers["countersign-attempts"]).toBe("2");
    // Spans of orders: two, two, two, and one for the refused; server, attempts, wait and token of the last; and the first token's.
    await expect.poll(() => countSpans(pod, "exported")).toBe(7 + 5 + 1);
    await end(pod);
    const spans = collector.spans();
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(13);
    expect(spans).toHaveLength(13);
    for (const span of spans) expectConventions(span);
    expect(spans.map((span) => describeTree(span, spans)).toSorted()).toEqual([
      "client POST /json-api/create_order 200 < server POST /create_order",
      "client POST /json-api/create_order 200 < server POST /create_order",
      "client POST /json-api/create_order 401 error 401 < server POST /create_order",
      "client POST /json-api/create_order 500 error 500 < server POST /create_order",
      "client POST /json-api/create_order error upstream_reset < server POST /create_order",
      "client POST /oauth/token 200",
      "client POST /oauth/token 200 < internal await token",
      "internal await token < server POST /create_order",
      "server POST /create_order 200",
      `server POST /create_order 200 < ${callersSpan}`,
      "server POST /create_order 400",
      "server POST /create_order 500 error 500",
      "server POST /create_order 502 error upstream_reset",
    ]);
    expect(collector.resources()).toEqual(
      Array(collector.resources().length).fill(expect.objectContaining({ "service.name": "payments" })),
    );
    expect(collector.text()).toContain('"schemaUrl":"https://opentelemetry.io/schemas/1.37.0"');
  });

  it("it refuses spans with a wrong token: they count as `rejected`, orders are answered, and `doctor` says what to correct", async () => {
    const collector = await prepareCollector();
    await collector.start();
    const pod = await startTracingPod(collector, "another-token");
    expect((await pod.order({ "Countersign-Site": hmacSite })).status).toBe(200);
    await expect.poll(() => countSpans(pod, "rejected")).toBe(3);
    const { stdout } = await runDoctor(["--config", join(pod.config.path, "countersign.yaml")]);
    expect(stdout).toMatch(/does not take spans \(HTTP 401\)[\s\S]*correct the values in tracing\.otlp\.headers/);
    expect(collector.spans()).toEqual([]);
  });

  it.each([
    ["stopped", "ECONNREFUSED"],
    ["hanging (SIGSTOP)", "no answer"],
    ["full (503 by its memory_limiter)", "HTTP 503"],
  ])(
    "while it is %s, orders are as fast as without it, 2,048 spans wait and arrive later, the others count as lost, and SIGTERM ends Countersign in time",
    async (state, cause) => {
      const signed = { "Countersign-Site": hmacSite };
      const untraced = await startPod();
      const without = await measureOrders(untraced, orders);
      const collector = await prepareCollector();
      await collector.fail(state);
      const pod = await startTracingPod(collector);
      const within = await measureOrders(pod, orders);
      expect(within.medianMs).toBeLessThan(3 * without.medianMs + 20);
      expect(within.slowestMs).toBeLessThan(without.slowestMs + 3_000);
      const sent = () => 2 * pod.simulator.seen.apiRequests.length + pod.simulator.seen.tokenRequests.length;
      // Spans are counted after each attempt to export them; the pause between attempts is 30 s at most.
      await expect.poll(() => countSpans(pod, "dropped"), { timeout: 60_000 }).toBe(sent() - mostWaiting);
      expect(pod.lines("spans_delayed").map((line) => line.cause)).toContain(cause);
      expect(residentBytes(pod.program) - residentBytes(untraced.program)).toBeLessThan(64 * 1_048_576);

      await collector.recover(state);
      await expect.poll(() => countSpans(pod, "exported"), { timeout: 60_000 }).toBe(mostWaiting);
      await expect.poll(() => collector.ids().size).toBe(mostWaiting);
      await collector.fail(state);
      for (let n = 0; n < 5; n += 1) expect((await pod.order(signed)).status).toBe(200);
      // The limit is 2 s; a busy machine gets three times as much.
      expect(await end(pod)).toBeLessThan(6_000);
      const lost = pod.lines("spans_lost").reduce((sum, line) => sum + line.count, 0);
      expect(collector.ids().size + lost).toBe(sent());
      expect(pod.lines("spans_lost").at(-1)).toMatchObject({ count: 10, cause: "the end", result: "dropped" });
    },
  );

  it("it accepts the configuration examples/tracing/otel-collector.yaml", async () => {
    const checked = startProgram(program, ["validate", "--config", "examples/tracing/otel-collector.yaml"]);
    expect(await checked.ended).toBe(0);
  });
});

function expectConventions({ name, kind, attributes, isError, startMs, endMs }: CollectedSpan): void {
  for (const key of required[kind]) expect([name, key, attributes[key]]).not.toContain(undefined);
  for (const [key, value] of Object.entries(attributes)) {
    if (!key.startsWith("countersign.")) expect([key, typeof value]).toEqual([key, types[key]]);
  }
  const status = Number(attributes["http.response.status_code"] ?? 0);
  expect([name, isError]).toEqual([name, "error.type" in attributes]);
  // In a client's span a 4xx is an error too.
  if (kind !== "internal") expect(isError).toBe(status === 0 || status >= (kind === "client" ? 400 : 500));
  if (kind === "client") expect(new URL(String(attributes["url.full"])).search).toBe("");
  expect(endMs).toBeGreaterThanOrEqual(startMs);
}

/** Kind, name, status and error, and the parent span. */
function describeTree(
  { kind, name, attributes, traceId, parentSpanId }: CollectedSpan,
  spans: readonly CollectedSpan[],
): string {
  const parent = spans.find((each) => each.traceId === traceId && each.spanId === parentSpanId);
  const above = parent === undefined ? parentSpanId : `${parent.kind} ${parent.name}`;
  const { "http.response.status_code": status, "error.type": error } = attributes;
  return [kind, name, status, error && `error ${error}`, above && `< ${above}`].filter(Boolean).join(" ");
}

function startTracingPod({ port }: { readonly port: number }, token = bearer): Promise<Pod> {
  const otlp = `{ endpoint: "http://127.0.0.1:${port}/v1/traces", headers: { authorization: { file: DIR/bearer } } }`;
  const more = `log: { level: debug }\ntracing: { serviceName: payments, otlp: ${otlp} }`;
  return startPod({ settings: { more }, files: { bearer: `Bearer ${token}\n` } });
}

async function countSpans(pod: Pod, result: "exported" | "dropped" | "rejected"): Promise<number> {
  return (await pod.metrics()).sum("countersign_trace_spans_total", { result });
}

/** @returns the time until it ended, in milliseconds */
async function end({ program: { child, ended } }: Pod): Promise<number> {
  const askedMs = performance.now();
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
  return performance.now() - askedMs;
}

/** Sends this many orders, eight at a time; each must be answered. */
async function measureOrders(pod: Pod, count: number) {
  const durations: number[] = [];
  const turns = Array.from({ length: 8 }, async () => {
    while (durations.length < count) {
      const startMs = performance.now();
      const at = durations.push(0) - 1;
      expect((await pod.order({ "Countersign-Site": hmacSite })).status).toBe(200);
      durations[at] = performance.now() - startMs;
    }
  });
  await Promise.all(turns);
  const sorted = durations.toSorted((a, b) => a - b);
  return { medianMs: sorted[count / 2] ?? Number.NaN, slowestMs: sorted.at(-1) ?? Number.NaN };
}

/** A Collector that writes spans to a file, and demands the token. */
async function prepareCollector() {
  const folder = new ConfigFolder();
  const port = await freePort();
  const written = join(folder.path, "spans.json");
  let running: Program | undefined;
  const text = () => (existsSync(written) ? readFileSync(written, "utf8") : "");
  const requests = () => text().split("\n").filter(Boolean).map(readExport);
  const spans = () => requests().flatMap((each) => each.spans);

  async function start(isFull = false): Promise<Program> {
    const config = {
      extensions: { bearertokenauth: { token: bearer } },
      receivers: {
        otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}`, auth: { authenticator: "bearertokenauth" } } } },
      },
      // A limit below the size of any process.
      processors: { memory_limiter: { check_interval: "100ms", limit_mib: 1 } },
      exporters: { file: { path: written, append: true, flush_interval: "100ms" } },
      service: {
        extensions: ["bearertokenauth"],
        pipelines: {
          traces: { receivers: ["otlp"], processors: isFull ? ["memory_limiter"] : [], exporters: ["file"] },
        },
        telemetry: { metrics: { level: "none" } },
      },
    };
    const started = startProgram(program, ["--config", folder.config("collector.yaml", config)]);
    running = started;
    await expect.poll(() => started.stderr()).toContain("Everything is ready");
    return started;
  }

  async function stop(): Promise<void> {
    running?.child.kill("SIGTERM");
    await running?.ended;
  }

  return {
    port,
    text,
    spans,
    resources: () => requests().map(({ resource }) => resource),
    /** Ids of the written spans, without repetitions. */
    ids: () => new Set(spans().map(({ spanId }) => spanId)),
    start,
    async fail(state: string) {
      if (state.startsWith("hanging")) (running ?? (await start())).child.kill("SIGSTOP");
      else await stop();
      if (state.startsWith("full")) await start(true);
    },
    async recover(state: string) {
      if (state.startsWith("hanging")) return void running?.child.kill("SIGCONT");
      await stop();
      await start();
    },
  };
}
