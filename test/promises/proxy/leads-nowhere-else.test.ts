/**
 * Proves row 2: whatever the request target says, the origin is fixed at the start; 400 or 403, nothing is sent, and
 * nobody else is even connected to. And that an absolute-form target, as HTTP_PROXY makes it, is served where it names
 * the listener's own environment.
 */
import { describe, expect, it } from "vitest";
import type { FailureCode } from "../../../src/model/errors.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { type Stage, stageProxy } from "../../../testkit/stage.ts";

const odd = ["target_not_allowed", 400] as const;
const foreign = ["target_not_allowed", 403] as const;
const query = ["query_not_allowed", 400] as const;
const malformed = ["malformed_request", 400] as const;

async function refuses(stage: Stage, target: string, [code, status]: readonly [FailureCode, number]) {
  expectFailure(await ask(stage.port, { target }), { code, status });
  expect(stage.simulator.counts()).toMatchObject({ apiRequests: 0, apiConnections: 0 });
}

describe("a path that is not plain segments is refused, and says why (all spellings are in the corpus)", () => {
  it.each([
    ["//evil.example", odd],
    ["/%2e%2e/create_order", odd],
    ["/create_order?", query],
    ["//evil.example?x", query],
    ["", malformed],
    ["create_order", malformed],
    ["/create order", malformed],
  ])("%s", async (target, expected) => refuses(await stageProxy(), target, expected));
});

it("refuses an operation that is not listed", async () => {
  await refuses(await stageProxy(), "/create_orders", ["operation_not_allowed", 403]);
});

describe("an absolute-form target", () => {
  it.each([
    ["http://evil.example/json-api/create_order", foreign],
    // An absent port is the baseUrl's default one, and the simulator has another.
    ["http://127.0.0.1/json-api/create_order", foreign],
    ["http://localhost:{port}/json-api/create_order", foreign],
    ["http://{host}", foreign],
    ["http://user:password@{host}/json-api/create_order", odd],
    ["http://{host}/json-api/create_order?x=1", query],
  ])("%s is refused", async (pattern, expected) => {
    const stage = await stageProxy();
    const { host, port } = new URL(stage.simulator.apiUrl);
    await refuses(stage, pattern.replace("{host}", host).replace("{port}", port), expected);
  });

  it("of another environment is refused, and that environment hears nothing of it", async () => {
    const [own, other] = [await stageProxy(), await stageProxy()];
    await refuses(own, `${other.simulator.apiUrl}/create_order`, foreign);
    expect(other.simulator.counts()).toMatchObject({ apiRequests: 0, apiConnections: 0 });
  });

  it.each(["http", "HTTP", "Http"])("of this environment is served: %s", async (scheme) => {
    const { port, simulator } = await stageProxy();
    const target = `${simulator.apiUrl.replace(/^http/, scheme)}/create_order`;
    expect((await ask(port, { target })).status).toBe(200);
    const [request] = await simulator.seen.whenApiRequests(1);
    expect(request?.target).toBe("/json-api/create_order");
  });

  it("makes the Host header count for nothing, but for its being one", async () => {
    const { port, simulator } = await stageProxy();
    const target = `${simulator.apiUrl}/create_order`;
    expect((await ask(port, { target, host: ["Host: evil.example"] })).status).toBe(200);
    expectFailure(await ask(port, { target, host: [] }), { status: 400, code: "malformed_request" });
    expect(simulator.counts().apiRequests).toBe(1);
  });

  it.each([
    ["http://127.0.0.1/json-api/create_order", "upstream_unreachable", 502],
    ["http://127.0.0.1:443/json-api/create_order", "upstream_unreachable", 502],
    ["http://127.0.0.1:80/json-api/create_order", "target_not_allowed", 403],
  ] as const)("without a port means the baseUrl's own default, 443 for https: %s", async (target, code, status) => {
    // Let in, it gets as far as the port, where no service is.
    const { port } = await stageProxy({ baseUrl: "https://127.0.0.1/json-api" });
    expectFailure(await ask(port, { target }), { status, code });
  });
});

it.each(["GET", "PUT", "POST"])(
  "a URL of another host is 403 whatever else is wrong with the %s: it came through HTTP_PROXY",
  async (method) => {
    const stage = await stageProxy();
    const [code, status] = foreign;
    expectFailure(await ask(stage.port, { method, target: "http://other.example/", type: [] }), { code, status });
    expect(stage.simulator.counts().apiRequests).toBe(0);
  },
);
