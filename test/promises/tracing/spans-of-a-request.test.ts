/** The spans of a request are whole and true. */
import { expect, it } from "vitest";
import type { Simulator } from "../../../simulator/src/service/simulator.ts";
import type { RequestFinished } from "../../../src/model/events.ts";
import type { ListenerContext } from "../../../src/serving/messages.ts";
import { attributesOfRequest } from "../../../src/tracing/tracer.ts";
import { call, order } from "../../../testkit/call.ts";
import type { CollectedSpan } from "../../../testkit/collector.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { headerPairs } from "../../../testkit/header-pairs.ts";
import { hmacSite, oauthSite, type StageOf, stage } from "../../../testkit/stage.ts";

const callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const callersSpan = "00f067aa0ba902b7";
const traceparent = `00-${callersTrace}-${callersSpan}-01`;
const patient = { config: { timeouts: { requestMs: 60_000, connectMs: 30_000, tokenMs: 30_000 } } };
const signed = { headers: { "Countersign-Site": hmacSite } };

it("the request's span is below its caller's, and above each attempt, the wait for a token and the token request", async () => {
  const staged = await stage("tracing", { resource: { "cloud.region": "x" } }, patient);
  const { url, simulator, collector } = staged;
  expect((await call(url, order)).status).toBe(200);
  simulator.revokeAllTokens();
  const answer = await call(url, order, { headers: { traceparent, tracestate: "a=1,b=2" } });
  expect(answer.headers["countersign-attempts"]).toBe("2");
  const { events, spans: all } = await ended(staged, 2);
  const [, event] = events;
  expect(event).toMatchObject({ traceId: callersTrace, spanId: expect.stringMatching(/^[0-9a-f]{16}$/) });
  const spans = inTrace(all, callersTrace);
  expect(spans.map(({ name, kind }) => `${kind} ${name}`)).toEqual([
    "server POST /create_order",
    "client POST /json-api/create_order",
    "internal await token",
    "client POST /oauth/token",
    "client POST /json-api/create_order",
  ]);
  const [own, first, wait, token, second] = spans;
  expect(own).toMatchObject({
    spanId: event?.spanId,
    parentSpanId: callersSpan,
    traceState: "a=1,b=2",
    isError: false,
  });
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

it("one of the requests that wait for a token request has its span, and the others a link to it", async () => {
  const staged = await stage("tracing", {}, patient);
  const { url, simulator } = staged;
  expect((await call(url)).status).toBe(200);
  simulator.revokeAllTokens();
  const answers = await Promise.all([1, 2, 3].map(() => call(url)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  const { events, spans } = await ended(staged, 4);
  const traces = events.slice(1).map(({ traceId }) => traceId);
  const waits = spans.filter(({ name, traceId }) => name === "await token" && traces.includes(traceId));
  const tokens = spans.filter(({ attributes }) => attributes["countersign.token_reason"] === "unauthorized");
  expect(tokens).toHaveLength(1);
  expect(waits.length).toBeGreaterThan(1);
  const [token] = tokens;
  expect(waits.filter(({ spanId }) => spanId === token?.parentSpanId)).toHaveLength(1);
  const linked = waits.filter(({ links }) => links.length === 1 && links[0]?.spanId === token?.spanId);
  expect(linked).toHaveLength(waits.length - 1);
});

it("has the path of a URL that came through HTTP_PROXY, but none of a foreign URL", async () => {
  const staged = await stage("tracing");
  await call(staged.url, order, { path: `${staged.simulator.apiUrl}/create_order` });
  await call(staged.url, order, { path: "http://evil.example/hidden" });
  const { spans } = await ended(staged, 2);
  const paths = spans.flatMap(({ kind, attributes }) => (kind === "server" ? [attributes["url.path"]] : []));
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

it("begins a trace if the caller has none or sends a malformed one", async () => {
  const staged = await stage("tracing");
  const malformed = ["00-a-b-01", `00-${"0".repeat(32)}-${callersSpan}-01`, `ff-${callersTrace}-${callersSpan}-01`];
  await call(staged.url);
  for (const bad of malformed) await call(staged.url, order, { headers: { traceparent: bad, tracestate: "a=1" } });
  const { spans } = await ended(staged, 4);
  const own = spans.filter(({ kind }) => kind === "server");
  expect(new Set(own.map(({ traceId }) => traceId)).size).toBe(4);
  for (const span of own) {
    expect(span.traceId).not.toBe(callersTrace);
    expect(span).toMatchObject({ parentSpanId: undefined, traceState: undefined });
  }
  // A request without `traceparent` is sent without it, as without tracing.
  const [none, ...replaced] = headersOf(staged.simulator);
  expect(none).not.toHaveProperty("traceparent");
  for (const headers of replaced) {
    expect(own.some(({ traceId }) => String(headers["traceparent"]).startsWith(`00-${traceId}-`))).toBe(true);
    expect(headers).not.toHaveProperty("tracestate");
  }
});

it("exports nothing of a trace that its caller does not record, but passes the trace on", async () => {
  const staged = await stage("tracing");
  const given = { traceparent: `00-${callersTrace}-${callersSpan}-00`, tracestate: "a=1" };
  await call(staged.url, order, { headers: given });
  const { events, spans } = await ended(staged, 1);
  expect(events).toMatchObject([{ traceId: callersTrace }]);
  expect(events[0]).not.toHaveProperty("spanId");
  const [headers] = headersOf(staged.simulator);
  expect(headers?.["traceparent"]).toMatch(new RegExp(`^00-${callersTrace}-(?!${callersSpan})[0-9a-f]{16}-00$`));
  expect(headers?.["tracestate"]).toBe("a=1");
  expect(inTrace(spans, callersTrace)).toEqual([]);
});

it("records the share sampleRatio of the traces that begin here", async () => {
  const staged = await stage("tracing", { sampleRatio: 0 });
  await call(staged.url);
  await call(staged.url, order, { headers: { traceparent } });
  const { spans } = await ended(staged, 2);
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([callersTrace]));
});

it("has no attempt for a request that was not sent, and an error with its code for a request that failed", async () => {
  const port = await freePort();
  const staged = await stage("tracing", {}, { baseUrl: `http://127.0.0.1:${port}` });
  expect((await call(staged.url, order, signed)).json).toMatchObject({ code: "upstream_unreachable" });
  expect((await call(staged.url, "{", signed)).status).toBe(400);
  const { spans } = await ended(staged, 2);
  const ofRequests = spans.filter(({ attributes }) => !("countersign.token_result" in attributes));
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
  // A 4xx is the caller's error, not the server's (OpenTelemetry's conventions for HTTP servers).
  expect(ofRequests[1]).toMatchObject({ isError: false, attributes: { "countersign.outcome": "not_sent" } });
});

it("ends an attempt with the last byte of its answer", async () => {
  const staged = await stage("tracing");
  staged.simulator.faults.add({ host: "api", kind: "answer", status: 200, body: "x".repeat(3_000_000) });
  expect((await call(staged.url, order, signed)).text).toHaveLength(3_000_000);
  const { events, spans } = await ended(staged, 1);
  const own = spans.find(({ spanId }) => spanId === events[0]?.spanId);
  const attempt = spans.find(({ parentSpanId }) => parentSpanId === own?.spanId);
  expectInside(attempt, own);
  expect(own?.attributes["http.response.body.size"]).toBe(3_000_000);
});

it.each([
  { propagate: "always", given: {}, hasParent: true },
  { propagate: "never", given: { traceparent, tracestate: "a=1" }, hasParent: false },
] as const)(
  "with propagate: $propagate the service gets traceparent: $hasParent",
  async ({ propagate, given, hasParent }) => {
    const { url, simulator } = await stage("tracing", { propagate });
    expect((await call(url, order, { headers: given })).status).toBe(200);
    const [headers = {}] = headersOf(simulator);
    expect("traceparent" in headers).toBe(hasParent);
    expect(headers).not.toHaveProperty("tracestate");
  },
);

/** The events of so many requests, and all spans once they have ended. */
async function ended({ recorder, proxy, collector }: StageOf<"tracing">, count: number) {
  await recorder.nth("request_finished", count);
  await proxy.stop("test");
  return { events: recorder.of("request_finished"), spans: collector.spans() };
}

/** The spans of one trace, oldest first. */
function inTrace(spans: readonly CollectedSpan[], traceId: string): CollectedSpan[] {
  return spans.filter((span) => span.traceId === traceId).toSorted((a, b) => a.startMs - b.startMs);
}

/** The headers of each request that the service got, names in lower case. */
function headersOf({ seen }: Simulator): Readonly<Record<string, string>>[] {
  return seen.apiRequests.map(({ rawHeaders }) => Object.fromEntries(headerPairs(rawHeaders)));
}

function expectInside(inner: CollectedSpan | undefined, outer: CollectedSpan | undefined): void {
  if (inner === undefined || outer === undefined) throw new Error("a span is missing");
  expect(inner.parentSpanId).toBe(outer.spanId);
  expect(inner.startMs).toBeGreaterThanOrEqual(outer.startMs);
  expect(inner.endMs).toBeLessThanOrEqual(outer.endMs);
  expect(inner.endMs).toBeGreaterThanOrEqual(inner.startMs);
}
