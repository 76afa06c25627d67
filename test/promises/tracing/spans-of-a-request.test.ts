/** Row 84: the spans of a request are whole and true. */
import { expect, it } from "vitest";
import type { Simulator } from "../../../simulator/src/service/simulator.ts";
import type { RequestFinished } from "../../../src/model/events.ts";
import type { ListenerContext } from "../../../src/proxy/messages.ts";
import { attributesOfRequest } from "../../../src/tracing/tracer.ts";
import { call, order } from "../../../testkit/call.ts";
import type { CollectedSpan } from "../../../testkit/collector.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { hmacSite, oauthSite } from "../../../testkit/stage.ts";
import { stageTracing } from "../../../testkit/tracing-stage.ts";

const callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const callersSpan = "00f067aa0ba902b7";
const traceparent = `00-${callersTrace}-${callersSpan}-01`;
const patientTimeouts = { requestMs: 60_000, connectMs: 30_000, tokenMs: 30_000 };

/** The spans of one trace, oldest first. */
function inTrace(spans: readonly CollectedSpan[], traceId: string): CollectedSpan[] {
  return spans.filter((span) => span.traceId === traceId).toSorted((a, b) => a.startMs - b.startMs);
}

/** The headers of each request that the service got, names in lower case. */
function headersOf({ seen }: Simulator): Readonly<Record<string, string>>[] {
  return seen.apiRequests.map(({ rawHeaders }) =>
    Object.fromEntries(
      rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] ?? ""]] : [])),
    ),
  );
}

function expectInside(inner: CollectedSpan | undefined, outer: CollectedSpan | undefined): void {
  if (inner === undefined || outer === undefined) throw new Error("a span is missing");
  expect(inner.parentSpanId).toBe(outer.spanId);
  expect(inner.startMs).toBeGreaterThanOrEqual(outer.startMs);
  expect(inner.endMs).toBeLessThanOrEqual(outer.endMs);
  expect(inner.endMs).toBeGreaterThanOrEqual(inner.startMs);
}

it("puts a refused attempt, the wait for a new token, the token request and the retry below the request, and the request below its caller", async () => {
  const { url, simulator, collector, recorder, proxy } = await stageTracing(
    { resource: { "cloud.region": "x" } },
    { config: { timeouts: patientTimeouts } },
  );
  expect((await call(url, order)).status).toBe(200);
  simulator.revokeAllTokens();
  const answer = await call(url, order, { headers: { traceparent, tracestate: "a=1,b=2" } });
  expect(answer.headers["countersign-attempts"]).toBe("2");
  const event = await recorder.nth("request_finished", 2);
  expect(event).toMatchObject({ traceId: callersTrace, spanId: expect.stringMatching(/^[0-9a-f]{16}$/) });
  await proxy.stop("test");
  const spans = inTrace(collector.spans(), callersTrace);
  expect(spans.map(({ name, kind }) => `${kind} ${name}`)).toEqual([
    "server POST /create_order",
    "client POST /json-api/create_order",
    "internal await token",
    "client POST /oauth/token",
    "client POST /json-api/create_order",
  ]);
  const [own, first, wait, token, second] = spans;
  expect(own).toMatchObject({ spanId: event.spanId, parentSpanId: callersSpan, traceState: "a=1,b=2", isError: false });
  for (const span of [first, wait, second]) expectInside(span, own);
  expect(token?.parentSpanId).toBe(wait?.spanId);
  expect(second?.startMs).toBeGreaterThanOrEqual(wait?.endMs ?? Number.NaN);
  expect(own?.attributes).toEqual({
    "http.request.method": "POST",
    "http.route": "/create_order",
    "url.scheme": "http",
    "url.path": "/create_order",
    "server.address": "127.0.0.1",
    "server.port": 0,
    "http.response.status_code": 200,
    "client.address": "127.0.0.1",
    "http.request.body.size": JSON.stringify(order).length,
    "http.response.body.size": answer.text.length,
    "countersign.environment": "sandbox",
    "countersign.request_id": answer.headers["countersign-request-id"],
    "countersign.listener": "127.0.0.1:0",
    "countersign.site": oauthSite,
    "countersign.auth": "oauth",
    "countersign.operation": "create_order",
    "countersign.outcome": "answered",
    "countersign.answered_by": "service",
    "countersign.stage": "stream_answer",
    "countersign.attempts": 2,
  });
  const attempt = {
    "http.request.method": "POST",
    "url.full": `${simulator.apiUrl}/create_order`,
    "url.template": "/json-api/create_order",
    "server.address": "127.0.0.1",
    "server.port": Number(new URL(simulator.apiUrl).port),
    "countersign.site": oauthSite,
    "countersign.credential": `${oauthSite}/blue`,
  };
  const refused = { "http.response.status_code": 401, "error.type": "401" };
  expect(first).toMatchObject({ isError: true, attributes: { ...attempt, ...refused } });
  const retried = { "http.response.status_code": 200, "http.request.resend_count": 1 };
  expect(second).toMatchObject({ isError: false });
  expect(second?.attributes).toEqual({ ...attempt, ...retried });
  expect(token?.attributes).toMatchObject({
    "url.full": `${simulator.loginUrl}/oauth/token`,
    "countersign.token_result": "issued",
    "countersign.token_reason": "unauthorized",
    "countersign.credential": `${oauthSite}/blue`,
  });
  expect(collector.requests[0]).toMatchObject({
    path: "/v1/traces",
    resource: { "service.name": "countersign", "cloud.region": "x" },
  });
  // The service saw each attempt under its own span.
  const seen = headersOf(simulator)
    .slice(-2)
    .map(({ traceparent }) => traceparent);
  expect(seen).toEqual([first, second].map((span) => `00-${callersTrace}-${span?.spanId}-01`));
  expect(headersOf(simulator).at(-1)?.["tracestate"]).toBe("a=1,b=2");
});

it("gives requests that wait for one token request one span of it, and the others a link", async () => {
  const { url, simulator, collector, recorder, proxy } = await stageTracing(
    {},
    { config: { timeouts: patientTimeouts } },
  );
  expect((await call(url)).status).toBe(200);
  simulator.revokeAllTokens();
  const answers = await Promise.all([1, 2, 3].map(() => call(url)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  await recorder.nth("request_finished", 4);
  await proxy.stop("test");
  const traces = recorder
    .of("request_finished")
    .slice(1)
    .map(({ traceId }) => traceId);
  const waits = collector.spans().filter(({ name, traceId }) => name === "await token" && traces.includes(traceId));
  const tokens = collector
    .spans()
    .filter(({ attributes }) => attributes["countersign.token_reason"] === "unauthorized");
  expect(tokens).toHaveLength(1);
  expect(waits.length).toBeGreaterThan(1);
  const [token] = tokens;
  expect(waits.filter(({ spanId }) => spanId === token?.parentSpanId)).toHaveLength(1);
  const linked = waits.filter(({ links }) => links.length === 1 && links[0]?.spanId === token?.spanId);
  expect(linked).toHaveLength(waits.length - 1);
});

it("gives the path of a URL that came through HTTP_PROXY, and none of a foreign one", async () => {
  const { url, simulator, collector, recorder, proxy } = await stageTracing();
  await call(url, order, { path: `${simulator.apiUrl}/create_order` });
  await call(url, order, { path: "http://evil.example/hidden" });
  await recorder.nth("request_finished", 2);
  await proxy.stop("test");
  const paths = collector
    .spans()
    .flatMap(({ kind, attributes }) => (kind === "server" ? [attributes["url.path"]] : []));
  expect(paths).toEqual(["/json-api/create_order", "/…"]);
});

it.each([
  [":7411", { "server.address": "0.0.0.0", "server.port": 7411 }],
  ["[::1]:7411", { "server.address": "::1", "server.port": 7411 }],
  ["unix:/run/countersign/a.sock", { "server.address": "/run/countersign/a.sock" }],
])("names the listener %s as the server", (listener, expected) => {
  const context = { listener, url: "http://", environment: { baseUrl: { path: "" } } } as ListenerContext;
  const attributes = attributesOfRequest({ operationLabel: "none" } as RequestFinished, context);
  expect(attributes).toMatchObject(expected);
});

it("begins a trace where the caller has none or sends a malformed one", async () => {
  const { url, collector, simulator, recorder, proxy } = await stageTracing();
  for (const bad of [
    "",
    "00-a-b-01",
    `00-${"0".repeat(32)}-${callersSpan}-01`,
    `ff-${callersTrace}-${callersSpan}-01`,
  ]) {
    await call(url, order, { headers: bad === "" ? {} : { traceparent: bad, tracestate: "a=1" } });
  }
  await recorder.nth("request_finished", 4);
  await proxy.stop("test");
  const own = collector.spans().filter(({ kind }) => kind === "server");
  expect(new Set(own.map(({ traceId }) => traceId)).size).toBe(4);
  for (const span of own) {
    expect(span.traceId).not.toBe(callersTrace);
    expect(span).toMatchObject({ parentSpanId: undefined, traceState: undefined });
  }
  // As without tracing, a request without `traceparent` is sent without it.
  const [none, ...replaced] = headersOf(simulator);
  expect(none).not.toHaveProperty("traceparent");
  for (const headers of replaced) {
    expect(own.some(({ traceId }) => String(headers["traceparent"]).startsWith(`00-${traceId}-`))).toBe(true);
    expect(headers).not.toHaveProperty("tracestate");
  }
});

it("exports nothing of a trace that its caller does not record, and goes on with it", async () => {
  const { url, collector, simulator, recorder, proxy } = await stageTracing();
  await call(url, order, { headers: { traceparent: `00-${callersTrace}-${callersSpan}-00`, tracestate: "a=1" } });
  const event = await recorder.nth("request_finished", 1);
  expect(event).toMatchObject({ traceId: callersTrace });
  expect(event).not.toHaveProperty("spanId");
  const [headers] = headersOf(simulator);
  expect(headers?.["traceparent"]).toMatch(new RegExp(`^00-${callersTrace}-(?!${callersSpan})[0-9a-f]{16}-00$`));
  expect(headers?.["tracestate"]).toBe("a=1");
  await proxy.stop("test");
  expect(inTrace(collector.spans(), callersTrace)).toEqual([]);
});

it("records of the traces that begin here as many as sampleRatio says", async () => {
  const { url, collector, recorder, proxy } = await stageTracing({ sampleRatio: 0 });
  await call(url);
  await call(url, order, { headers: { traceparent } });
  await recorder.nth("request_finished", 2);
  await proxy.stop("test");
  expect(new Set(collector.spans().map(({ traceId }) => traceId))).toEqual(new Set([callersTrace]));
});

it("shows what was not sent without an attempt, and what failed as an error with its code", async () => {
  const port = await freePort();
  const { url, collector, recorder, proxy } = await stageTracing({}, { baseUrl: `http://127.0.0.1:${port}` });
  const site = { headers: { "Countersign-Site": hmacSite } };
  expect((await call(url, order, site)).json).toMatchObject({ code: "upstream_unreachable" });
  expect((await call(url, "{", site)).status).toBe(400);
  await recorder.nth("request_finished", 2);
  await proxy.stop("test");
  const ofRequests = collector.spans().filter(({ attributes }) => !("countersign.token_result" in attributes));
  expect(ofRequests.map(({ kind }) => kind)).toEqual(["server", "server"]);
  expect(ofRequests[0]).toMatchObject({
    isError: true,
    attributes: {
      "error.type": "upstream_unreachable",
      "countersign.code": "upstream_unreachable",
      "countersign.cause": "ECONNREFUSED",
      "countersign.outcome": "not_sent",
    },
  });
  // A 4xx is its caller's error (OpenTelemetry's conventions for HTTP servers).
  expect(ofRequests[1]).toMatchObject({ isError: false, attributes: { "countersign.outcome": "not_sent" } });
});

it("ends an attempt with the last byte of its answer", async () => {
  const { url, collector, recorder, simulator, proxy } = await stageTracing();
  simulator.faults.add({ host: "api", kind: "answer", status: 200, body: "x".repeat(3_000_000) });
  const site = { headers: { "Countersign-Site": hmacSite } };
  expect((await call(url, order, site)).text).toHaveLength(3_000_000);
  const { spanId } = await recorder.nth("request_finished", 1);
  await proxy.stop("test");
  const own = collector.spans().find((span) => span.spanId === spanId);
  const attempt = collector.spans().find(({ parentSpanId }) => parentSpanId === spanId);
  expectInside(attempt, own);
  expect(own?.attributes["http.response.body.size"]).toBe(3_000_000);
});

it.each([
  { propagate: "always", given: {}, hasParent: true },
  { propagate: "never", given: { traceparent, tracestate: "a=1" }, hasParent: false },
] as const)(
  "with propagate: $propagate the service gets traceparent: $hasParent",
  async ({ propagate, given, hasParent }) => {
    const { url, simulator } = await stageTracing({ propagate });
    expect((await call(url, order, { headers: given })).status).toBe(200);
    const [headers = {}] = headersOf(simulator);
    expect("traceparent" in headers).toBe(hasParent);
    expect(headers).not.toHaveProperty("tracestate");
  },
);
