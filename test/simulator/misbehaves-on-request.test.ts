import { describe, expect, test } from "vitest";
import { send, sendBytes } from "./client.ts";
import {
  askForToken,
  obtainToken,
  order,
  orderInBytes,
  orderWithToken,
  stage,
  stageFault,
  stageWithToken,
} from "./stage.ts";

describe("another answer", () => {
  test.each([
    [429, { "retry-after": "5" }],
    [429, { "retry-after": "Fri, 15 Jan 2027 08:00:00 GMT" }],
    [429, { "retry-after": "soon" }],
    [503, {}],
    [401, { "www-authenticate": "Bearer" }],
    [403, {}],
    [301, { location: "http://127.0.0.1:9/elsewhere" }],
    [307, { location: "http://127.0.0.1:9/elsewhere" }],
    [308, { location: "http://127.0.0.1:9/elsewhere" }],
  ])("%i %j comes from either host once, and nothing takes effect", async (status, headers) => {
    const { simulator, token } = await stageWithToken();
    for (const host of ["api", "login"] as const) {
      simulator.faults.add({ host, kind: "answer", status, headers, body: "replaced" });
    }
    expect(await orderWithToken(simulator, token)).toMatchObject({ status, headers, body: "replaced" });
    expect(await askForToken(simulator)).toMatchObject({ status, headers, body: "replaced" });
    expect(simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 0, replaced: 1, tokensIssued: 1 });
    expect(simulator.seen.apiRequests).toMatchObject([{ refusal: undefined, orderId: undefined, fault: "answer" }]);
    expect((await orderWithToken(simulator, token)).status).toBe(200);
    expect((await askForToken(simulator)).status).toBe(200);
  });

  test.each([
    ["text/html", "<h1>Sign in</h1>"],
    ["application/json", '{"token_type":"Bearer","expires_in":86400}'],
    ["application/json", '{"access_token":"a\\r\\nX: y","token_type":"Bearer","expires_in":NaN}'],
    ["application/json", `{"access_token":"${"x".repeat(5_000_000)}"}`],
    ["application/json", ""],
  ])("200 with malformed at the authorization server: %s %.60s", async (type, body) => {
    const simulator = await stage();
    simulator.faults.add({ host: "login", kind: "answer", status: 200, headers: { "content-type": type }, body });
    const answer = await askForToken(simulator);
    expect(answer.headers["content-type"]).toBe(type);
    expect(answer.body).toBe(body);
    expect(simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 0 });
  });

  test("can carry the name of a token that was really issued", async () => {
    const simulator = await stage();
    const body = '{"access_token":"{{token}}","token_type":"bearer","expires_in":"3600"}';
    simulator.faults.add({ host: "login", kind: "answer", status: 200, body, executes: true });
    expect((await askForToken(simulator)).body).toBe(body.replace("{{token}}", "token_1"));
    expect((await orderWithToken(simulator, "token_1")).status).toBe(200);
  });

  const named = { kind: "answer", body: "{{order_id}}", executes: true } as const;

  test("can come although the order was created", async () => {
    const { simulator, token } = await stageFault({ ...named, status: 500 });
    expect(await orderWithToken(simulator, token)).toMatchObject({ status: 500, body: "order_1" });
    expect(simulator.counts()).toMatchObject({ accepted: 1, replaced: 0, apiAnswers: { 500: 1 } });
  });

  test("does not let a refused call take effect", async () => {
    const { simulator } = await stageFault({ ...named, status: 200 });
    expect((await orderWithToken(simulator, "nobody")).body).toBe("{{order_id}}");
    expect(simulator.counts()).toMatchObject({ accepted: 0, unauthorized: 1 });
  });
});

describe("hanging", () => {
  test("lasts until it is released, and the order exists meanwhile", async () => {
    const { simulator, token } = await stageWithToken();
    const fault = simulator.faults.add({ host: "api", kind: "hang" });
    const answer = orderWithToken(simulator, token);
    const [seen] = await simulator.seen.whenApiRequests(1);
    expect(seen).toMatchObject({ orderId: "order_1", answer: undefined, fault: "hang" });
    expect(simulator.faults.hanging).toBe(1);
    expect((await orderWithToken(simulator, token)).status).toBe(200);
    fault.release();
    expect((await answer).status).toBe(200);
    expect(simulator.faults.hanging).toBe(0);
  });

  test("ends when the client leaves, which is recorded", async () => {
    const { simulator } = await stageFault({ kind: "hang" });
    const { socket } = sendBytes(simulator.apiUrl, orderInBytes("token_1"));
    await simulator.seen.whenApiRequests(1);
    socket.destroy();
    expect(await simulator.seen.whenApiAnswers(1)).toMatchObject([
      { orderId: "order_1", answer: { ending: "abandoned" } },
    ]);
    expect(simulator.counts()).toMatchObject({ accepted: 1, abandoned: 1, apiAnswers: {} });
    expect(simulator.faults.hanging).toBe(0);
  });

  test("is ended by stopping the host", async () => {
    const simulator = await stage();
    simulator.faults.add({ host: "login", kind: "hang", times: "until_cleared" });
    const answer = askForToken(simulator);
    await simulator.seen.whenTokenRequests(1);
    await simulator.stopLogin();
    expect((await answer).error).toMatch(/ECONNRESET$/);
    expect((await askForToken(simulator)).error).toBe("connect ECONNREFUSED");
    simulator.faults.clear();
    await simulator.startLogin();
    expect(JSON.parse((await askForToken(simulator)).body)).toMatchObject({ access_token: "token_2" });
  });
});

describe("slowness", () => {
  test("delays an answer", async () => {
    const { simulator, token } = await stageFault({ kind: "delay", delayMs: 60 });
    const startedMs = performance.now();
    expect((await orderWithToken(simulator, token)).status).toBe(200);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(58);
  });

  test("delays another fault", async () => {
    const { simulator, token } = await stageFault({ kind: "answer", status: 503, delayMs: 60 });
    const startedMs = performance.now();
    expect((await orderWithToken(simulator, token)).status).toBe(503);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(58);
  });

  test("drips a body", async () => {
    const { simulator, token } = await stageFault({ kind: "drip", chunkBytes: 60, intervalMs: 1 });
    let pieces = 0;
    const answer = await send(`${simulator.apiUrl}/create_order`, {
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify(order("S1")),
      onFirstBytes: () => {
        pieces += 1;
      },
    });
    expect(JSON.parse(answer.body)).toMatchObject({ status: "ok" });
    expect(pieces).toBeGreaterThan(1);
    expect(await simulator.seen.whenApiAnswers(1)).toMatchObject([{ answer: { status: 200, ending: "answered" } }]);
  });
});

test("revoking tokens strikes before the call is judged", async () => {
  const { simulator, token } = await stageFault({ kind: "revoke_tokens" });
  expect((await orderWithToken(simulator, token)).status).toBe(401);
  expect((await orderWithToken(simulator, await obtainToken(simulator))).status).toBe(200);
});
