import { expect, test } from "vitest";
import {
  askForToken,
  childCredentials,
  obtainToken,
  orderWithToken,
  parentCredentials,
  send,
  sendJson,
  simulate,
  simulateWithToken,
} from "./simulate.ts";

test("shows the counts, which do not include control requests", async () => {
  const simulator = await simulate();
  await orderWithToken(simulator, await obtainToken(simulator));
  const answer = await send(simulator.controlUrl, { method: "GET" });
  expect(answer.status).toBe(200);
  expect(answer.json).toEqual({ ...simulator.counts() });
  expect(answer.json).toMatchObject({ apiRequests: 1, accepted: 1, tokensIssued: 1, apiConnections: 2 });
});

test("plans, lists, clears and releases faults", async () => {
  const { simulator, token } = await simulateWithToken();
  const faults = `${simulator.controlUrl}/faults`;
  const fault = { host: "api", kind: "answer", status: 429, headers: { "Retry-After": "7" }, times: 5 };
  expect((await sendJson(faults, fault)).json).toEqual({ id: 1, fault, played: 0, remaining: 5 });
  expect(await orderWithToken(simulator, token)).toMatchObject({ status: 429, headers: { "retry-after": "7" } });
  const listed = await send(faults, { method: "GET" });
  expect(listed.json).toEqual([{ id: 1, fault, played: 1, remaining: 4 }]);
  expect((await send(faults, { method: "DELETE" })).status).toBe(200);
  expect((await orderWithToken(simulator, token)).status).toBe(200);

  await sendJson(faults, { host: "api", kind: "hang" });
  const answer = orderWithToken(simulator, token);
  await simulator.seen.whenApiRequests(3);
  expect((await send(`${faults}/release`)).status).toBe(200);
  expect((await answer).status).toBe(200);
});

test("revokes tokens, and accepts one issued afterwards, with another lifetime", async () => {
  const { simulator, token } = await simulateWithToken({ tokenLifetimeSeconds: 60 });
  expect((await send(`${simulator.controlUrl}/revoke-tokens`)).status).toBe(200);
  expect(await orderWithToken(simulator, token)).toMatchObject({ status: 401, json: { error: "token_revoked" } });
  expect((await askForToken(simulator)).json.expires_in).toBe(60);
  expect((await sendJson(`${simulator.controlUrl}/token-lifetime`, { seconds: 9 })).status).toBe(200);
  expect((await askForToken(simulator)).json.expires_in).toBe(9);
  expect((await orderWithToken(simulator, "token_3")).status).toBe(200);
});

test("stops and starts the authorization server; a second stop or start changes nothing", async () => {
  const simulator = await simulate();
  const ask = () => askForToken(simulator);
  for (const path of ["/login/stop", "/login/stop"]) {
    expect((await send(simulator.controlUrl + path)).status).toBe(200);
    expect((await ask()).error).toBe("connect ECONNREFUSED");
  }
  for (const path of ["/login/start", "/login/start"]) {
    expect((await send(simulator.controlUrl + path)).status).toBe(200);
    expect((await ask()).status).toBe(200);
  }
});

test("deletes credentials: the set gets no new token, keeps its old one, and comes back when restored", async () => {
  const { simulator, token } = await simulateWithToken();
  const { clientId } = parentCredentials;
  expect((await sendJson(`${simulator.controlUrl}/credentials/delete`, { clientId })).status).toBe(200);
  expect((await askForToken(simulator)).status).toBe(401);
  expect((await askForToken(simulator, childCredentials)).status).toBe(200);
  expect((await orderWithToken(simulator, token)).status).toBe(200);
  expect((await sendJson(`${simulator.controlUrl}/credentials/restore`, { clientId })).status).toBe(200);
  expect(await obtainToken(simulator)).toBe("token_3");
});

test("changes a client secret: the old one is refused from then on", async () => {
  const simulator = await simulate();
  const changed = { ...parentCredentials, clientSecret: "another-secret" };
  expect((await askForToken(simulator)).status).toBe(200);
  const { clientId, clientSecret } = changed;
  expect((await sendJson(`${simulator.controlUrl}/credentials/secret`, { clientId, clientSecret })).status).toBe(200);
  expect((await askForToken(simulator)).status).toBe(401);
  expect((await askForToken(simulator, changed)).status).toBe(200);
});

test.each<[string, unknown, string]>([
  ["/faults", {}, "kind must be one of answer, hang, delay, drip, reset, truncate, raw, close_after_answer"],
  ["/faults", { kind: "toString" }, "kind must be one of"],
  ["/faults", [], "not a JSON object"],
  ["/faults", { kind: "hang" }, "hang needs host: one of api, login"],
  ["/faults", { kind: "hang", host: "redis" }, "host must be one of api, login"],
  ["/faults", { kind: "hang", host: "api", status: 1 }, "hang has no status; it takes host, times, site, clientId"],
  ["/faults", { kind: "answer", host: "api" }, "answer needs status: a whole number, 200 to 599"],
  ["/faults", { kind: "answer", host: "api", status: "200" }, "status must be a whole number, 200 to 599"],
  ["/faults", { kind: "answer", host: "api", status: 200, headers: { a: 1 } }, "headers must be an object"],
  ["/faults", { kind: "answer", host: "api", status: 200, headers: { "a b": "1" } }, "headers must be an object"],
  ["/faults", { kind: "answer", host: "api", status: 200, headers: { a: "b\r\nc" } }, "headers must be an object"],
  ["/faults", { kind: "raw", host: "api", bytes: "€" }, "bytes must be a string of characters up to"],
  ["/faults", { kind: "answer", host: "api", status: 200, executes: 1 }, "executes must be true or false"],
  ["/faults", { kind: "delay", host: "api" }, "delay needs delayMs: a whole number, 0 to 3600000"],
  ["/faults", { kind: "hang", host: "api", times: 1.5 }, 'times must be a whole number from 1 on, or "until_cleared"'],
  ["/faults", { kind: "reset", host: "api", when: "never" }, "when must be one of before_reading, after_reading"],
  ["/faults", { kind: "reset", host: "api", when: "before_reading", site: "S1" }, "cannot be limited to a site"],
  ["/token-lifetime", {}, 'the body must be {"seconds": <number>}'],
  ["/token-lifetime", { seconds: -1 }, "a whole number of seconds above 0"],
  ["/credentials/delete", { clientId: 5 }, 'the body must be {"clientId": <string>}'],
  ["/credentials/secret", { clientId: "parent-client" }, 'the body must be {"clientSecret": <string>}'],
  ["/credentials/delete", { clientId: "nobody" }, 'no credential set has the client id "nobody"'],
])("answers 400 to %s %j and says what is accepted", async (path, input, message) => {
  const simulator = await simulate();
  const answer = await sendJson(simulator.controlUrl + path, input);
  expect(answer.status).toBe(400);
  expect(answer.json).toEqual({ error: expect.stringContaining(message) });
  expect(simulator.faults.list()).toEqual([]);
});

test("answers 400 to a body that is not JSON, and 404 to an unknown path", async () => {
  const simulator = await simulate();
  expect((await send(`${simulator.controlUrl}/faults`, { body: "{" })).status).toBe(400);
  const unknown = await send(`${simulator.controlUrl}/toString`);
  expect(unknown.status).toBe(404);
  expect(unknown.json.accepted).toContain("POST /simulator/revoke-tokens");
});
