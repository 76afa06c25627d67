/** The simulator misbehaves on request, and its page lists every fault, each in a form that is accepted. */
import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { describe, expect, test } from "vitest";
import { readFault } from "../../simulator/src/service/fault.ts";
import { send, sendBytes } from "./client.ts";
import {
  askForToken,
  childCredentials,
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
  ])("can be a malformed 200 of the authorization server: %s %.60s", async (type, body) => {
    const simulator = await stage();
    simulator.faults.add({ host: "login", kind: "answer", status: 200, headers: { "content-type": type }, body });
    const answer = await askForToken(simulator);
    expect(answer.headers["content-type"]).toBe(type);
    expect(answer.body).toBe(body);
    expect(simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 0 });
  });

  test("can contain the name of a token that was really issued", async () => {
    const simulator = await stage();
    const body = '{"access_token":"{{token}}","token_type":"bearer","expires_in":"3600"}';
    simulator.faults.add({ host: "login", kind: "answer", status: 200, body, executes: true });
    expect((await askForToken(simulator)).body).toBe(body.replace("{{token}}", "token_1"));
    expect((await orderWithToken(simulator, "token_1")).status).toBe(200);
  });

  const named = { kind: "answer", body: "{{order_id}}", executes: true } as const;

  test("can be a 500 although the order was created", async () => {
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

test("the fault that revokes tokens takes effect before the call is verified", async () => {
  const { simulator, token } = await stageFault({ kind: "revoke_tokens" });
  expect((await orderWithToken(simulator, token)).status).toBe(401);
  expect((await orderWithToken(simulator, await obtainToken(simulator))).status).toBe(200);
});

function expectHalfAnAnswer(text: string): void {
  const announced = Number(/content-length: (\d+)/i.exec(text)?.[1]);
  expect(text.slice(text.indexOf("\r\n\r\n") + 4)).toHaveLength(Math.floor(announced / 2));
}

describe("broken connections", () => {
  test("reset before reading: nothing is seen, nothing takes effect", async () => {
    const { simulator, token } = await stageFault({ kind: "reset", when: "before_reading" });
    expect((await orderWithToken(simulator, token)).error).toBe("read ECONNRESET");
    expect(simulator.counts()).toMatchObject({ apiRequests: 0, accepted: 0, incomplete: 1 });
    expect((await orderWithToken(simulator, token)).status).toBe(200);
  });

  test("reset after reading: the order exists, no status was written", async () => {
    const { simulator, token } = await stageFault({ kind: "reset", when: "after_reading" });
    expect(await orderWithToken(simulator, token)).toMatchObject({ status: undefined, error: "read ECONNRESET" });
    expect(simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1, cut: 1, apiAnswers: {} });
    expect(simulator.seen.apiRequests).toMatchObject([
      { orderId: "order_1", token: "token_1", answer: { status: undefined, ending: "cut" } },
    ]);
  });

  test("reset after reading a call that is refused: seen, judged, no order", async () => {
    const { simulator } = await stageFault({ kind: "reset", when: "after_reading" });
    expect((await orderWithToken(simulator, "nobody")).error).toBe("read ECONNRESET");
    expect(simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 0, unauthorized: 1, cut: 1 });
    expect(simulator.seen.apiRequests).toMatchObject([{ refusal: { code: "token_unknown" }, orderId: undefined }]);
  });

  test("reset in the middle of the answer", async () => {
    const { simulator, token } = await stageFault({ kind: "reset", when: "mid_answer" });
    const { text, error } = await sendBytes(simulator.apiUrl, orderInBytes(token)).ended;
    expect(error).toBe("read ECONNRESET");
    expectHalfAnAnswer(text);
    expect(simulator.counts()).toMatchObject({ accepted: 1, cut: 1, apiAnswers: { 200: 1 } });
  });

  test("truncated answer: half of the announced body, then an orderly end", async () => {
    const { simulator, token } = await stageFault({ kind: "truncate" });
    const { text, error } = await sendBytes(simulator.apiUrl, orderInBytes(token)).ended;
    expect(error).toBeUndefined();
    expectHalfAnAnswer(text);
    expect(simulator.counts()).toMatchObject({ accepted: 1, cut: 1, apiAnswers: { 200: 1 } });
  });

  test("junk instead of HTTP", async () => {
    const { simulator, token } = await stageFault({ kind: "raw", bytes: "\u0000\u00ffnonsense\r\n" });
    expect((await orderWithToken(simulator, token)).error).toMatch(/^HPE_/);
    expect(simulator.counts()).toMatchObject({ accepted: 1, cut: 1 });
  });

  test("any raw answer", async () => {
    const bytes = "HTTP/1.1 200 Fine\r\nContent-Length: 2\r\nX-Odd: \u00e9\r\n\r\nok";
    const simulator = await stage();
    simulator.faults.add({ host: "login", kind: "raw", bytes });
    expect(await askForToken(simulator)).toMatchObject({ status: 200, body: "ok", headers: { "x-odd": "\u00e9" } });
    expect(simulator.counts().tokensIssued).toBe(1);
  });

  test("close after the answer, without `Connection: close`", async () => {
    const { simulator, token } = await stageFault({ kind: "close_after_answer" });
    const agent = new Agent({ keepAlive: true });
    const closed = new Promise((resolve) => agent.on("free", (socket) => socket.once("close", resolve)));
    const answer = await send(`${simulator.apiUrl}/create_order`, {
      agent,
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify(order("S1")),
    });
    expect(answer).toMatchObject({ status: 200, headers: { connection: "keep-alive" } });
    await closed;
    agent.destroy();
    expect(simulator.counts()).toMatchObject({ accepted: 1, cut: 0 });
  });
});

describe("the plan of faults", () => {
  const unavailable = { kind: "answer", status: 503 } as const;

  test("plays faults in their order, each as often as asked", async () => {
    const { simulator, token } = await stageFault({ ...unavailable, times: 2 });
    simulator.faults.add({ host: "api", kind: "reset", when: "before_reading" });
    simulator.faults.add({ host: "api", kind: "answer", status: 429 });
    const answers = [];
    for (let at = 0; at < 5; at += 1) {
      const { status, error } = await orderWithToken(simulator, token);
      answers.push(status ?? error);
    }
    expect(answers).toEqual([503, 503, "read ECONNRESET", 429, 200]);
    expect(simulator.faults.list()).toEqual([]);
  });

  test("repeats a fault until it is cleared, and counts how often", async () => {
    const simulator = await stage();
    const fault = simulator.faults.add({ host: "login", times: "until_cleared", ...unavailable });
    const played = fault.whenPlayed(3);
    for (let at = 0; at < 3; at += 1) expect((await askForToken(simulator)).status).toBe(503);
    await played;
    expect(fault).toMatchObject({ played: 3, remaining: "until_cleared" });
    fault.clear();
    expect((await askForToken(simulator)).status).toBe(200);
  });

  test("applies a fault only to its site, by the identifier that the fault names", async () => {
    const { simulator, token } = await stageFault({ ...unavailable, site: "S2", times: "until_cleared" });
    expect((await orderWithToken(simulator, token, "S1")).status).toBe(200);
    expect((await orderWithToken(simulator, token, "S2")).status).toBe(503);
    expect((await orderWithToken(simulator, token, "K2")).status).toBe(503);
    simulator.faults.clear();
    simulator.faults.add({ host: "api", ...unavailable, site: "K2", times: "until_cleared" });
    expect((await orderWithToken(simulator, token, "S2")).status).toBe(200);
    expect((await orderWithToken(simulator, token, "K2")).status).toBe(503);
  });

  test("applies a fault only to its client", async () => {
    const simulator = await stage();
    const parentToken = await obtainToken(simulator);
    const childToken = await obtainToken(simulator, childCredentials);
    for (const host of ["api", "login"] as const) {
      simulator.faults.add({ host, ...unavailable, clientId: "child-client", times: "until_cleared" });
    }
    expect((await orderWithToken(simulator, parentToken, "S3")).status).toBe(200);
    expect((await orderWithToken(simulator, childToken, "S3")).status).toBe(503);
    expect((await askForToken(simulator)).status).toBe(200);
    expect((await askForToken(simulator, childCredentials)).status).toBe(503);
  });

  test("refuses faults that make no sense", async () => {
    const { faults } = await stage();
    expect(() => faults.add({ host: "api", kind: "answer", status: 99 })).toThrow("status must be a whole number");
    expect(() => faults.add({ host: "api", kind: "answer", status: 200, headers: { a: "b\r\nc" } })).toThrow("headers");
    expect(() => faults.add({ host: "api", kind: "hang", times: 0 })).toThrow("times");
    expect(() => faults.add({ host: "api", kind: "raw", bytes: "€" })).toThrow("bytes");
  });
});

const page = readFileSync("simulator/README.md", "utf8");
const rows = [...page.matchAll(/^\| `(\{.+?\})` \|/gm)].map(([, fault = ""]) => JSON.parse(fault));

test("the page has every kind of fault", () => {
  const [, kinds = ""] = /kind must be one of (.*)/.exec(String(refusalOf({ host: "api" }))) ?? [];
  expect([...new Set(rows.map(({ kind }) => kind))].sort()).toEqual(kinds.split(", ").sort());
});

test.each(rows)("the page shows a fault that is accepted: %j", (fault) => {
  expect(refusalOf(fault)).toBeUndefined();
});

function refusalOf(fault: unknown): unknown {
  try {
    readFault(fault);
    return undefined;
  } catch (error) {
    return error;
  }
}
