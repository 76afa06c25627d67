/** The request that the service gets, for every authentication; the corpora have what it must not get. */
import { describe, expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { headerPairs } from "../../../testkit/header-pairs.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { bothSite, childSite, hmacSite, oauthSite, type Stage, stage } from "../../../testkit/stage.ts";

it("authorises an order with a token and sends every value as a string", async () => {
  const { url, simulator } = await stage();
  const answer = await call(url, { order_amount: 10, order_is_standing: true, order_currency: "EUR" });
  expect(answer.status).toBe(200);
  expect(answer.headers["countersign-outcome"]).toBe("answered");
  expect(answer.headers["countersign-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.headers["countersign-attempts"]).toBeUndefined();
  const { parameters, auth, token, target } = await received(simulator);
  expect({ auth, token, target }).toEqual({ auth: "oauth", token: "token_1", target: "/json-api/create_order" });
  expect(parameters).toEqual({
    order_amount: "10.00",
    order_is_standing: "true",
    order_currency: "EUR",
    version: "3.0",
    site_identifier: oauthSite,
    timestamp: expect.stringMatching(/^\d{10}$/),
  });
  expect(Object.keys(parameters).slice(0, 3)).toEqual(["order_amount", "order_is_standing", "order_currency"]);
});

it("reuses the token: a hundred orders need one token request", async () => {
  const { url, simulator } = await stage();
  const answers = await Promise.all(Array.from({ length: 100 }, () => call(url)));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  expect(simulator.counts()).toMatchObject({ accepted: 100, tokensIssued: 1 });
});

it("sends a child site as itself, with its parent's token", async () => {
  const { url, simulator } = await stage();
  const answer = await call(url, order, { headers: { "Countersign-Site": childSite } });
  expect(answer.status).toBe(200);
  const { parameters, token } = await received(simulator);
  expect(parameters["site_identifier"]).toBe(childSite);
  expect(token).toBe("token_1");
});

it("signs with the site's default key, and the service's own verifier agrees", async () => {
  const { url, simulator } = await stage();
  const answer = await call(url, { ...order, site_identifier: hmacSite, signature: "mine", timestamp: "1" });
  expect(answer.status).toBe(200);
  const { parameters, auth, refusal } = await received(simulator);
  expect({ auth, refusal }).toEqual({ auth: "hmac", refusal: undefined });
  expect(parameters["signature"]).toMatch(/^[0-9a-f]{64}$/);
  expect(parameters["site_identifier"]).toBe(hmacSite);
});

it.each(["K2000000001", "K2000000002"])("signs with the key that the caller names: %s", async (key) => {
  const { url, simulator } = await stage();
  expect((await call(url, { ...order, site_identifier: key })).status).toBe(200);
  expect((await received(simulator)).parameters["site_identifier"]).toBe(key);
});

it("names the default key instead of the site if the site is configured so", async () => {
  const { url, simulator } = await stage({ site: { identifyBy: "key" } });
  expect((await call(url, order, { headers: { "Countersign-Site": hmacSite } })).status).toBe(200);
  expect((await received(simulator)).parameters["site_identifier"]).toBe("K2000000001");
});

it("authenticates as the caller asks if the site has both methods", async () => {
  const { url, simulator } = await stage({ withBoth: true });
  const site = { "Countersign-Site": bothSite };
  expect((await call(url, order, { headers: site })).status).toBe(200);
  expect((await call(url, order, { headers: { ...site, "Countersign-Auth": "hmac" } })).status).toBe(200);
  const requests = await simulator.seen.whenApiRequests(2);
  expect(requests.map(({ auth }) => auth)).toEqual(["oauth", "hmac"]);
});

it("passes on the caller's identification, languages, trace and request id", async () => {
  const { port, simulator } = await stage();
  const sent = {
    "user-agent": "shop/1.0",
    "accept-language": "de",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    tracestate: "vendor=1",
    "x-request-id": "of-the-caller",
  };
  await ask(port, { more: Object.entries(sent).map((pair) => pair.join(": ")) });
  const { rawHeaders } = await received(simulator);
  expect(Object.fromEntries(headerPairs(rawHeaders))).toMatchObject(sent);
});

it("passes on the headers in forwardHeaders, in any casing, and no Via if Via is off", async () => {
  const { port, simulator } = await stage({ environment: { forwardHeaders: ["x-tenant"], via: false } });
  await ask(port, { more: ["X-TENANT: a", "x-tenant: b", "X-Other: c"] });
  const names = headerPairs((await received(simulator)).rawHeaders).map(([name]) => name);
  const always = "accept authorization connection content-length content-type host";
  expect(names.sort().join(" ")).toBe(`${always} x-request-id x-tenant x-tenant`);
});

describe("an absolute-form target", () => {
  it("of another environment is refused, and nothing is sent to that environment", async () => {
    const [own, other] = [await stage(), await stage()];
    expectFailure(await ask(own.port, { target: `${other.simulator.apiUrl}/create_order` }), {
      code: "target_not_allowed",
      status: 403,
    });
    expect(own.simulator.counts()).toMatchObject({ apiRequests: 0, apiConnections: 0 });
    expect(other.simulator.counts()).toMatchObject({ apiRequests: 0, apiConnections: 0 });
  });

  it("overrides the Host header, which must still be exactly one", async () => {
    const { port, simulator } = await stage();
    const target = `${simulator.apiUrl}/create_order`;
    expect((await ask(port, { target, host: ["Host: evil.example"] })).status).toBe(200);
    expectFailure(await ask(port, { target, host: [] }), { status: 400, code: "malformed_request" });
    expect(simulator.counts().apiRequests).toBe(1);
  });
});

it("the names in the configuration and the service's own are accepted as Host, and the service gets its own name", async () => {
  const bind = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
  const listeners = [{ bind, environment: "sandbox", hosts: ["countersign.internal"] }];
  const { port, simulator } = await stage({ config: { listeners } });
  const upstream = new URL(simulator.apiUrl).host;
  for (const host of ["countersign.internal", "COUNTERSIGN.internal:7411", upstream]) {
    expect((await ask(port, { host: [`Host: ${host}`] })).status).toBe(200);
  }
  for (const { rawHeaders } of await simulator.seen.whenApiRequests(3)) {
    expect(rawHeaders.slice(0, 2)).toEqual(["host", upstream]);
  }
});

/** The n-th request that the service got. */
async function received(simulator: Stage["simulator"], n = 1) {
  const requests = await simulator.seen.whenApiRequests(n);
  const request = requests[n - 1] ?? expect.unreachable();
  return { ...request, parameters: JSON.parse(request.body.toString("utf8")) as Record<string, string> };
}
