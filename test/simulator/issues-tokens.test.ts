import { describe, expect, test } from "vitest";
import type { SimulatorOptions } from "../../simulator/src/service/simulator.ts";
import type { SimulatedSite } from "../../simulator/src/service/sites.ts";
import {
  askForToken,
  childCredentials,
  grant,
  json,
  parentCredentials,
  type Sending,
  send,
  sendJson,
  simulate,
} from "./simulate.ts";

const form = { "content-type": "application/x-www-form-urlencoded" };

test("issues numbered tokens to JSON and form requests", async () => {
  const simulator = await simulate();
  const first = await askForToken(simulator);
  expect(first).toMatchObject({ status: 200, headers: { "cache-control": "no-store" } });
  expect(first.headers["content-type"]).toBe("application/json");
  expect(first.json).toEqual({ access_token: "token_1", token_type: "Bearer", expires_in: 86_400 });
  const body = new URLSearchParams(grant(childCredentials)).toString();
  const second = await send(`${simulator.loginUrl}/oauth/token`, { headers: form, body });
  expect(second.json).toMatchObject({ access_token: "token_2" });
  expect(simulator.counts()).toMatchObject({ tokenRequests: 2, tokensIssued: 2, loginAnswers: { 200: 2 } });
  expect(simulator.seen.tokenRequests).toMatchObject([
    { number: 1, clientId: "parent-client", token: "token_1", contentType: "application/json", refusal: undefined },
    { number: 2, clientId: "child-client", token: "token_2", contentType: form["content-type"] },
  ]);
  expect(JSON.stringify(simulator.seen.tokenRequests)).not.toContain("-secret");
});

describe("refuses", () => {
  const good = grant(parentCredentials);
  const { audience: _, ...noAudience } = good;
  test.each<[number, string, unknown]>([
    [401, "client_unknown", { ...good, client_id: "nobody" }],
    [401, "secret_wrong", { ...good, client_secret: "child-secret" }],
    [401, "secret_wrong", { ...good, client_secret: "parent-secret\n" }],
    [401, "audience_wrong", { ...good, audience: "aud-2" }],
    [400, "audience is missing or empty", noAudience],
    [400, "client_secret is missing or empty", { ...good, client_secret: "" }],
    [400, "grant_type is not client_credentials", { ...good, grant_type: "password" }],
    [400, 'value_not_a_string: the value of "client_id"', { ...good, client_id: 1 }],
  ])("with %i: %s", async (status, refusal, body) => {
    const simulator = await simulate();
    const answer = await sendJson(`${simulator.loginUrl}/oauth/token`, body);
    expect(answer.status).toBe(status);
    expect(simulator.seen.tokenRequests).toMatchObject([{ refusal, token: undefined, answer: { status } }]);
    expect(simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 0 });
  });

  const body = JSON.stringify(good);
  test.each<[number, string, Sending]>([
    [404, "/token", { body, headers: json }],
    [404, "/json-api/create_order", { body, headers: json }],
    [404, "/oauth/token?client_id=parent-client", { body, headers: json }],
    [405, "/oauth/token", { method: "GET" }],
    [415, "/oauth/token", { body }],
    [415, "/oauth/token", { body, headers: { "content-type": "text/plain" } }],
    [400, "/oauth/token", { body, headers: form }],
    [400, "/oauth/token", { body: body.replace("{", '{"client_id":"x",'), headers: json }],
  ])("with %i: %s %j", async (status, path, sending) => {
    const simulator = await simulate();
    expect((await send(simulator.loginUrl + path, sending)).status).toBe(status);
    expect(simulator.counts().tokensIssued).toBe(0);
  });
});

describe("refuses to start", () => {
  const site = (identifier: string, more: Partial<SimulatedSite> = {}) => ({ identifier, ...more });
  const withKeys = (identifier: string, ...keys: string[]) =>
    site(identifier, { keys: keys.map((key) => ({ identifier: key, secret: "s" })) });
  const withSets = (...credentials: (typeof parentCredentials)[]) => site("S1", { credentials });
  const third = { ...childCredentials, clientId: "c" };

  test.each<[string, Partial<SimulatorOptions>]>([
    ["several keys", { sites: [withKeys("S1", "K1", "K2")] }],
    ["called K1", { sites: [withKeys("S1", "K1"), withKeys("S2", "K1")] }],
    ["called S1", { sites: [site("S1"), site("S1")] }],
    ["unknown parent S9", { sites: [site("S1", { parent: "S9" })] }],
    ["itself a child", { sites: [site("S1"), site("S2", { parent: "S1" }), site("S3", { parent: "S2" })] }],
    ["more than two", { sites: [withSets(parentCredentials, childCredentials, third)] }],
    ["client id", { sites: [withSets(parentCredentials, parentCredentials)] }],
    ["basePath", { basePath: "/json-api/" }],
    ["basePath", { basePath: "/simulator/x" }],
    ["lifetime", { tokenLifetimeSeconds: Number.NaN }],
  ])("%s", async (message, options) => {
    await expect(simulate(options)).rejects.toThrow(message);
  });
});
