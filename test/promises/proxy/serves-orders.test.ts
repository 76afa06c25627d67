import { expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { bothSite, childSite, hmacSite, oauthSite, stageProxy } from "../../../testkit/stage.ts";

/** What the service got in its n-th call. */
async function received(simulator: Awaited<ReturnType<typeof stageProxy>>["simulator"], n = 1) {
  const requests = await simulator.seen.whenApiRequests(n);
  const request = requests[n - 1] ?? expect.unreachable();
  return { ...request, parameters: JSON.parse(request.body.toString("utf8")) as Record<string, string> };
}

it("authorises an order with a token and sends every value as a string", async () => {
  const { url, simulator } = await stageProxy();
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

it("reuses the token: a hundred orders, one token request", async () => {
  const { url, simulator } = await stageProxy();
  const answers = await Promise.all(Array.from({ length: 100 }, () => call(url)));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  expect(simulator.counts()).toMatchObject({ accepted: 100, tokensIssued: 1 });
});

it("sends a child site as itself, with its parent's token", async () => {
  const { url, simulator } = await stageProxy();
  const answer = await call(url, order, { headers: { "Countersign-Site": childSite } });
  expect(answer.status).toBe(200);
  const { parameters, token } = await received(simulator);
  expect(parameters["site_identifier"]).toBe(childSite);
  expect(token).toBe("token_1");
});

it("signs with the site's default key, and the service's own verifier agrees", async () => {
  const { url, simulator } = await stageProxy();
  const answer = await call(url, { ...order, site_identifier: hmacSite, signature: "mine", timestamp: "1" });
  expect(answer.status).toBe(200);
  const { parameters, auth, refusal } = await received(simulator);
  expect({ auth, refusal }).toEqual({ auth: "hmac", refusal: undefined });
  expect(parameters["signature"]).toMatch(/^[0-9a-f]{64}$/);
  expect(parameters["site_identifier"]).toBe(hmacSite);
});

it.each(["K2000000001", "K2000000002"])("signs with the key that the caller names: %s", async (key) => {
  const { url, simulator } = await stageProxy();
  expect((await call(url, { ...order, site_identifier: key })).status).toBe(200);
  expect((await received(simulator)).parameters["site_identifier"]).toBe(key);
});

it("names the default key instead of the site where the site says so", async () => {
  const { url, simulator } = await stageProxy({ site: { identifyBy: "key" } });
  expect((await call(url, order, { headers: { "Countersign-Site": hmacSite } })).status).toBe(200);
  expect((await received(simulator)).parameters["site_identifier"]).toBe("K2000000001");
});

it("authenticates as the caller asks where the site has both ways", async () => {
  const { url, simulator } = await stageProxy({ withBoth: true });
  const site = { "Countersign-Site": bothSite };
  expect((await call(url, order, { headers: site })).status).toBe(200);
  expect((await call(url, order, { headers: { ...site, "Countersign-Auth": "hmac" } })).status).toBe(200);
  const requests = await simulator.seen.whenApiRequests(2);
  expect(requests.map(({ auth }) => auth)).toEqual(["oauth", "hmac"]);
});
