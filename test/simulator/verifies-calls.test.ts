import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Simulator } from "../../simulator/src/service/simulator.ts";
import { ask } from "../../testkit/raw-caller.ts";
import {
  childCredentials,
  json,
  nowSeconds,
  obtainToken,
  order,
  portOf,
  type Sending,
  send,
  sendJson,
  signed,
  simulate,
  simulateWithToken,
} from "./simulate.ts";

const sortedNames = Object.keys(order("S4")).sort();

describe("with HMAC", () => {
  test.each([
    ["a Site Identifier, signed with the default key", good()],
    ["a Key Identifier, signed with that key", signed(order("K41"), "secret-k41")],
    ["a child site, signed with its own key", signed(order("S2"), "secret-k2")],
    ["version 2.0, signed with a key of version 2.0", signed(order("S5", { version: "2.0" }), "secret-k5")],
    ["exempt parameters with any characters", good({ format: "a b", call: "ä" })],
    ["an empty value and a negative amount", good({ note: "", minimum_payment_amount: "-0.01" })],
    ["names that only plain string ordering sorts right", good({ Zebra: "1", a_b: "2", aB: "3", ab: "4", "10": "5" })],
    ["__proto__ as a name", good(JSON.parse('{"__proto__":"1"}') as Record<string, string>)],
  ])("accepts %s", async (_, parameters) => {
    const simulator = await simulate();
    const { status } = await sendJson(`${simulator.apiUrl}/create_order`, parameters);
    expect(status).toBe(200);
  });

  test.each([
    ["missing_parameter", without("version")],
    ["missing_parameter", without("site_identifier")],
    ["missing_parameter", without("timestamp")],
    ["missing_parameter", good({ version: "" })],
    ["missing_parameter", order("S4")],
    ["version_malformed", good({ version: "3" })],
    ["timestamp_malformed", good({ timestamp: `${nowSeconds}.0` })],
    ["timestamp_malformed", good({ timestamp: `-${nowSeconds}` })],
    ["timestamp_implausible", good({ timestamp: String(nowSeconds + 601) })],
    ["timestamp_implausible", good({ timestamp: String(nowSeconds - 601) })],
    ["timestamp_implausible", good({ timestamp: `${nowSeconds}000` })],
    ["site_unknown", signed(order("S9"), "secret-k40")],
    ["decimal_malformed", good({ order_amount: "12.5" })],
    ["decimal_malformed", good({ auto_pay_amount: "500" })],
    ["decimal_malformed", good({ minimum_payment_amount: "1.000" })],
    ["decimal_malformed", good({ other_amount: "1,00" })],
    ["boolean_malformed", good({ order_is_standing: "True" })],
    ["name_not_allowed", good({ "two words": "x" })],
    ["name_not_allowed", good({ "": "x" })],
    ["character_not_allowed", good({ order_note: "two words" })],
    ["character_not_allowed", good({ email: "a@example.com" })],
    ["character_not_allowed", good({ name: "Zoë" })],
    ["character_not_allowed", good({ name: "line\n" })],
    ["key_missing", signed(order("S3"), "secret-k1")],
    ["key_version_mismatch", signed(order("S5"), "secret-k5")],
    ["key_version_mismatch", good({ version: "2.0" })],
    ["signature_malformed", { ...order("S4"), signature: "" }],
    ["signature_malformed", { ...good(), signature: good().signature.toUpperCase() }],
    ["signature_mismatch", { ...good(), order_currency: "EUR" }],
    ["signature_mismatch", { ...good(), added: "1" }],
    ["value_not_a_string", { ...good(), order_amount: 12.5 }],
  ])("refuses as %s %j", async (code, parameters) => {
    const simulator = await simulate();
    const answer = await sendJson(`${simulator.apiUrl}/create_order`, parameters);
    expect(answer).toMatchObject({ status: 422, json: { status: "error", error: code } });
    expect(simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 0, refused: 1, unauthorized: 0 });
  });

  test.each([
    ["signed with key K41 instead of K40 (wrong key)", signed(order("S4"), "secret-k41")],
    ["signed with key K1 instead of K2 (wrong key)", signed(order("S2"), "secret-k1")],
    ["the parameters were not sorted", withSignatureOf(Object.entries(order("S4")).flat().join(""))],
    ["the value came before the name", withSignatureOf(sortedNames.map((name) => order("S4")[name] + name).join(""))],
    [
      "an exempt parameter was signed",
      {
        ...withSignatureOf(["format", ...sortedNames].map((name) => name + (order("S4")[name] ?? "json")).join("")),
        format: "json",
      },
    ],
  ])("says what went wrong: %s", async (detail, parameters) => {
    const simulator = await simulate();
    const { json } = await sendJson(`${simulator.apiUrl}/create_order`, parameters);
    expect(json).toMatchObject({ error: "signature_mismatch", detail: expect.stringContaining(detail) });
  });

  test("accepts spaces and other exempt names if the site's options say so", async () => {
    const simulator = await simulate({ characters: "any", exempt: ["order_currency"] });
    const { order_currency: _, ...rest } = order("S4", { address: "1 Main Street" });
    const parameters = { ...signed(rest, "secret-k40"), order_currency: "USD" };
    expect((await sendJson(`${simulator.apiUrl}/create_order`, parameters)).status).toBe(200);
  });
});

describe("with OAuth", () => {
  async function sendOrder(
    simulator: Simulator,
    authorization: string,
    site = "S1",
    more: Record<string, string> = {},
  ): Promise<[number | undefined, string | undefined]> {
    const { status, json } = await sendJson(`${simulator.apiUrl}/create_order`, order(site, more), { authorization });
    return [status, json.error];
  }

  test("accepts a parent's token for the parent and its children, by site or key", async () => {
    const { simulator, token } = await simulateWithToken();
    for (const site of ["S1", "K1", "S2", "K2", "S3"]) {
      expect(await sendOrder(simulator, `Bearer ${token}`, site)).toEqual([200, undefined]);
    }
    expect(await sendOrder(simulator, `Bearer ${token}`, "S4")).toEqual([401, "token_not_for_site"]);
  });

  test("accepts a child's token for that child alone", async () => {
    const simulator = await simulate();
    const token = await obtainToken(simulator, childCredentials);
    expect(await sendOrder(simulator, `Bearer ${token}`, "S3")).toEqual([200, undefined]);
    expect(await sendOrder(simulator, `Bearer ${token}`, "S1")).toEqual([401, "token_not_for_site"]);
    expect(await sendOrder(simulator, `Bearer ${token}`, "S2")).toEqual([401, "token_not_for_site"]);
  });

  test("accepts spaces in values, which only the signature forbids", async () => {
    const { simulator, token } = await simulateWithToken();
    expect(await sendOrder(simulator, `bearer ${token}`, "S1", { note: "two words" })).toEqual([200, undefined]);
  });

  test.each([
    ["token_malformed", "Bearer "],
    ["token_malformed", "Bearer a b"],
    ["token_malformed", "Basic dXNlcjpwYXNz"],
    ["token_malformed", "token_1"],
    ["token_unknown", "Bearer token_2"],
  ])("refuses as %s: %s", async (code, authorization) => {
    const simulator = await simulate();
    await obtainToken(simulator);
    expect(await sendOrder(simulator, authorization)).toEqual([401, code]);
    expect(simulator.counts()).toMatchObject({ apiRequests: 1, unauthorized: 1, apiAnswers: { 401: 1 } });
  });

  test("refuses two Authorization headers even when each is good", async () => {
    const simulator = await simulate();
    const token = `Bearer ${await obtainToken(simulator)}`;
    const headers = ["Host", "x", "Content-Type", "application/json", "Authorization", token, "Authorization", token];
    const { status } = await send(`${simulator.apiUrl}/create_order`, { headers, body: JSON.stringify(order("S1")) });
    expect(status).toBe(401);
  });

  test("refuses a token from the second of its expiry onwards", async () => {
    let nowMs = nowSeconds * 1000;
    const simulator = await simulate({ tokenLifetimeSeconds: 300, nowMs: () => nowMs });
    const token = `Bearer ${await obtainToken(simulator)}`;
    nowMs += 299_999;
    expect(await sendOrder(simulator, token)).toEqual([200, undefined]);
    nowMs += 1;
    expect(await sendOrder(simulator, token)).toEqual([401, "token_expired"]);
  });

  test.each([
    ["token_of_other_environment", { environment: "production" }],
    ["token_of_other_audience", { audience: "aud-2" }],
    ["token_expired", { lifetimeSeconds: 0 }],
  ])("refuses as %s", async (code, forgery) => {
    const simulator = await simulate();
    const token = simulator.plantToken("parent-client", forgery);
    expect(await sendOrder(simulator, `Bearer ${token}`)).toEqual([401, code]);
  });

  test("names tokens by environment, so that a token of another environment is unknown", async () => {
    const sandbox = await simulate({ tokenPrefix: "sandbox_" });
    const production = await simulate({ environment: "production", tokenPrefix: "production_" });
    const token = await obtainToken(sandbox);
    expect(token).toBe("sandbox_token_1");
    await obtainToken(production);
    expect(await sendOrder(production, `Bearer ${token}`)).toEqual([401, "token_unknown"]);
  });

  test.each([
    ["signature_with_oauth", { signature: "" }],
    ["signature_with_oauth", { signature: "a".repeat(64) }],
    ["oauth_not_for_version", { version: "2.0" }],
    ["oauth_not_for_version", { version: "1.8" }],
    ["decimal_malformed", { order_amount: "1" }],
  ])("refuses as %s %j", async (code, more) => {
    const simulator = await simulate();
    const token = `Bearer ${await obtainToken(simulator)}`;
    expect(await sendOrder(simulator, token, "S1", more)).toEqual([422, code]);
  });

  test("a good signature does not help a bad token", async () => {
    const simulator = await simulate();
    const { status } = await sendJson(`${simulator.apiUrl}/create_order`, good(), { authorization: "Bearer nobody" });
    expect(status).toBe(422);
  });
});

describe("before any verification", () => {
  const body = JSON.stringify(good());
  test.each<[number, string, string, Sending]>([
    [200, "a charset", "/create_order", { headers: { "content-type": 'application/json; charset="UTF-8"' } }],
    [200, "another operation", "/orders/find-all_2", { headers: json }],
    [404, "no operation", "/", { headers: json }],
    [404, "an operation with an escape", "/create%5Forder", { headers: json }],
    [404, "dots", "/../json-api/create_order", { headers: json }],
    [405, "GET", "/create_order", { headers: json, method: "GET", body: "" }],
    [405, "PUT", "/create_order", { headers: json, method: "PUT" }],
    [406, "an accept without JSON", "/create_order", { headers: { ...json, accept: "text/html" } }],
    [415, "no content type", "/create_order", {}],
    [415, "a form", "/create_order", { headers: { "content-type": "application/x-www-form-urlencoded" } }],
    [415, "another charset", "/create_order", { headers: { "content-type": "application/json; charset=latin1" } }],
    [415, "a compressed body", "/create_order", { headers: { ...json, "content-encoding": "gzip" } }],
    [422, "a query string", "/create_order?format=json", { headers: json }],
    [422, "an empty query string", "/create_order?", { headers: json }],
  ])("answers %i to %s", async (status, _, path, sending) => {
    const simulator = await simulate();
    const answer = await send(simulator.apiUrl + path, { body, ...sending, path: `/json-api${path}` });
    expect(answer.status).toBe(status);
    expect(answer.headers.allow).toBe(status === 405 ? "POST" : undefined);
  });

  test("has no token endpoint on the API host", async () => {
    const simulator = await simulate();
    const { origin } = new URL(simulator.apiUrl);
    expect((await sendJson(`${origin}/oauth/token`, {})).status).toBe(404);
  });

  test("answers 413 to a body over 1 MiB and counts it as incomplete", async () => {
    const simulator = await simulate();
    const large = { framing: ["Content-Length: 2000000"], body: "x".repeat(1_100_000) };
    expect((await ask(portOf(simulator.apiUrl), { target: "/json-api/create_order", ...large })).status).toBe(413);
    expect(simulator.counts()).toMatchObject({ apiRequests: 0, incomplete: 1 });
  });

  test("counts bytes that are not HTTP as malformed", async () => {
    const simulator = await simulate();
    expect((await ask(portOf(simulator.apiUrl), "hello there\r\n\r\n")).status).toBe(400);
    expect(simulator.counts()).toMatchObject({ apiRequests: 0, malformed: 1 });
  });
});

const published = {
  version: "3.0",
  site_identifier: "MySiteID",
  timestamp: "1582149833",
  hello: "world",
  foo: "bar",
  format: "json",
};
const signature = "7986b4e59c15cd22fd496113c916f9739f619778812bf9ab8943af80749aadcc";

test("the published example is accepted over a socket, but not a second too late", async () => {
  let nowMs = 1_582_149_833_000;
  const simulator = await simulate({
    sites: [{ identifier: "MySiteID", keys: [{ identifier: "K1", secret: "abc123" }] }],
    timestampToleranceSeconds: 60,
    nowMs: () => nowMs,
  });
  const url = `${simulator.apiUrl}/any_operation`;
  const accepted = await sendJson(url, { ...published, signature });
  expect(accepted.json).toEqual({
    status: "ok",
    order: { order_id: "order_1", operation: "any_operation", received: published },
  });
  nowMs += 60_999;
  expect((await sendJson(url, { ...published, signature })).status).toBe(200);
  nowMs += 1;
  const late = await sendJson(url, { ...published, signature });
  const refusal = { error: "timestamp_implausible", detail: "timestamp is off by 61 s" };
  expect(late).toMatchObject({ status: 422, json: refusal });
});

/** A correctly signed order of site S4; `more` changes its parameters before signing. */
function good(more: Record<string, string> = {}) {
  return signed(order("S4", more), "secret-k40");
}

function without(name: string): Record<string, string> {
  const { [name]: _, ...rest } = order("S4");
  return signed(rest, "secret-k40");
}

function withSignatureOf(text: string): Record<string, string> {
  return { ...order("S4"), signature: createHmac("sha256", "secret-k40").update(text).digest("hex") };
}
