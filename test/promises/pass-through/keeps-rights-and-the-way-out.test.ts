/** A route obeys the rules of operations: rights of callers, the forward proxy, spans; but it has no Countersign-Once. */
import { describe, expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { places } from "../../../testkit/stage/egress.ts";
import { files, rawRequest } from "../../../testkit/stage/pass-through.ts";
import { hmacSite, oauthSite, stage } from "../../../testkit/stage.ts";
import { stageWithCaller, token } from "../proxy/callers.ts";

const right = `Proxy-Authorization: Bearer ${token}`;

describe("a caller with a name", () => {
  it.each([
    ["that may use operations only", { operations: new Set(["create_order"]) }],
    ["of another site", { sites: new Set([hmacSite]) }],
  ])("%s is refused, and nothing is sent", async (_, rights) => {
    const { upstream, ask } = await stageFor(rights);
    const answer = await ask();
    expect(answer).toMatchObject({ status: 403, headers: { "countersign-error": "caller_not_allowed" } });
    expect(answer.headers["countersign-outcome"]).toBe("not_sent");
    expect(upstream.spoken).toBe(0);
  });

  it("must first show its token, as everywhere, and the token is not passed on", async () => {
    const { upstream, port, recorder, ask: askWithToken } = await stageFor({});
    expect((await ask(port, rawRequest("GET /files/../a"))).status).toBe(407);
    expect(upstream.spoken).toBe(0);
    await askWithToken();
    expect(upstream.requests[0]?.head).not.toMatch(/proxy-authorization/i);
    expect(recorder.of("request_finished")[1]).toMatchObject({ caller: "orders", status: 200 });
  });

  it("that may use the route and its site is served, at its rate", async () => {
    const rights = { operations: new Set(["/files/"]), sites: new Set([oauthSite]), requestsPerSecond: 1 };
    const { upstream, ask } = await stageFor(rights);
    expect((await ask()).status).toBe(200);
    expect(await ask()).toMatchObject({ status: 429, headers: { "countersign-error": "caller_rate_limited" } });
    expect(upstream.requests).toHaveLength(1);
  });
});

describe("a caller that may use a route, but not a longer route below it", () => {
  const inner = { ...files, prefix: "/files/inner/", upstreamPrefix: "/json-api/files/inner/" };
  const rights = { operations: new Set(["/files/"]) };

  it.each([
    ["/files/inner/a", 403],
    ["/files/%69nner/a", 400],
    ["/files/Inner/a", 400],
    ["/files/inner;x=1/a", 400],
    ["/files/inne%72%3bx/a?b", 400],
  ])("does not reach the longer route by %s", async (target, status) => {
    const { upstream, ask } = await stageFor(rights, [inner, files]);
    for (const way of [target, `${upstream.url}/json-api${target}`]) expect((await ask(way)).status).toBe(status);
    expect(upstream.spoken).toBe(0);
  });

  it.each(["/files/inner", "/files/inne%72s/a", "/files/a?/files/%69nner/"])("is served at %s", async (target) => {
    const { ask } = await stageFor(rights, [inner, files]);
    expect((await ask(target)).status).toBe(200);
  });
});

it("a key of Countersign-Once is refused, since a route does not remember keys", async () => {
  const { upstream, send } = await stage("route", rawAnswer(200));
  const answer = await send("GET /files/a", ["Countersign-Once: order-1"]);
  expect(answer).toMatchObject({ status: 400, headers: { "countersign-outcome": "not_sent" } });
  expect(upstream.spoken).toBe(0);
});

it.each([
  ["http", true],
  ["https", false],
])("a service by %s is reached through the forward proxy, on one connection", async (_, plain) => {
  const staged = await stage("egress", { plain, oneSet: true, environment: { passThrough: [files] } });
  const { url, forward, simulator } = staged;
  for (let count = 0; count < 2; count += 1) {
    const answer = await call(url, undefined, { path: "/files/a", method: "GET" });
    expect(answer.headers["countersign-outcome"]).toBe("answered");
  }
  expect(forward.targets().filter((target) => target === places.api)).toHaveLength(1);
  expect(simulator.counts()).toMatchObject({ apiRequests: 2, apiConnections: 1 });
});

it("a request is not_sent if the forward proxy opens no tunnel", async () => {
  const staged = await stage("egress", { oneSet: true, environment: { passThrough: [files] } });
  expect((await call(staged.url)).status).toBe(200);
  staged.forward.hosts = {};
  const answer = await call(staged.url, undefined, { path: "/files/a", method: "GET" });
  expect(answer.headers).toMatchObject({
    "countersign-error": "upstream_unreachable",
    "countersign-outcome": "not_sent",
  });
});

it("a request has a span, by the route's path, and its caller's traceparent passes as it is", async () => {
  const { url, collector, simulator, proxy } = await stage("tracing", {}, { environment: { passThrough: [files] } });
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  await call(url, undefined, { path: "/files/a?b", method: "GET", headers: { traceparent } });
  await proxy.stop("test");
  const spans = collector.spans().filter(({ traceId }) => traceparent.includes(traceId));
  expect(spans.map(({ name }) => name)).toContain("GET /files/");
  expect(simulator.seen.apiRequests[0]?.rawHeaders).toContain(traceparent);
});

async function stageFor(rights: Parameters<typeof stageWithCaller>[0], passThrough = [files]) {
  const upstream = await startRawUpstream({ answer: rawAnswer(200) });
  const environment = { passThrough };
  const staged = await stageWithCaller(rights, { environment, baseUrl: `${upstream.url}/json-api` });
  return { ...staged, upstream, ask: (target = "/files/a") => ask(staged.port, rawRequest(`GET ${target}`, [right])) };
}
