import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { describe, expect, test } from "vitest";
import { readFault } from "../../simulator/src/service/fault.ts";
import { orderToTheEnd, RawConnection } from "../../testkit/raw-caller.ts";
import {
  askForToken,
  bytesOf,
  childCredentials,
  json,
  obtainToken,
  order,
  orderWithToken,
  portOf,
  rawOrder,
  send,
  simulate,
  simulateFault,
  simulateWithToken,
} from "./simulate.ts";

describe("another answer", () => {
  test.each([
    [429, { "retry-after": "soon" }],
    [503, {}],
    [301, { location: "http://127.0.0.1:9/elsewhere" }],
    [200, { "content-type": "text/html" }],
  ])("%i %j comes from either host once, and nothing takes effect", async (status, headers) => {
    const { simulator, token } = await simulateWithToken();
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

  test("can contain the name of a token that was really issued", async () => {
    const simulator = await simulate();
    const body = '{"access_token":"{{token}}","token_type":"bearer","expires_in":"3600"}';
    simulator.faults.add({ host: "login", kind: "answer", status: 200, body, executes: true });
    expect((await askForToken(simulator)).body).toBe(body.replace("{{token}}", "token_1"));
    expect((await orderWithToken(simulator, "token_1")).status).toBe(200);
  });
});

test.each([
  [500, "parent", "order_1", { accepted: 1, replaced: 0, apiAnswers: { 500: 1 } }],
  [200, "nobody", "{{order_id}}", { accepted: 0, unauthorized: 1 }],
])(
  "an order answered %i after its effect exists, unless its call by %s is refused",
  async (status, by, body, counts) => {
    const { simulator, token } = await simulateFault({ kind: "answer", body: "{{order_id}}", executes: true, status });
    expect(await orderWithToken(simulator, by === "nobody" ? by : token)).toMatchObject({ status, body });
    expect(simulator.counts()).toMatchObject(counts);
  },
);

const reset = "read ECONNRESET";

test.each([
  ["before_reading", "parent", { apiRequests: 0, accepted: 0, incomplete: 1 }],
  ["after_reading", "parent", { apiRequests: 1, accepted: 1, cut: 1, apiAnswers: {} }],
  ["after_reading", "nobody", { apiRequests: 1, accepted: 0, unauthorized: 1, cut: 1 }],
] as const)("a reset %s an order by %s writes no status: %o", async (when, by, counts) => {
  const { simulator, token } = await simulateFault({ kind: "reset", when });
  const answer = await orderWithToken(simulator, by === "nobody" ? by : token);
  expect(answer).toMatchObject({ status: undefined, error: reset });
  expect(simulator.counts()).toMatchObject(counts);
});

test.each([
  ["\u0000\u00ffnonsense\r\n", { error: expect.stringMatching(/^HPE_/) }],
  ["HTTP/1.1 200 Fine\r\nContent-Length: 2\r\nX-Odd: \u00e9\r\n\r\nok", { headers: { "x-odd": "\u00e9" }, body: "ok" }],
])("any bytes instead of an answer: %j", async (bytes, received) => {
  const { simulator, token } = await simulateFault({ kind: "raw", bytes });
  expect(await orderWithToken(simulator, token)).toMatchObject(received);
  expect(simulator.counts()).toMatchObject({ accepted: 1, cut: 1 });
});

test("the fault that revokes tokens takes effect before the call is verified", async () => {
  const { simulator, token } = await simulateFault({ kind: "revoke_tokens" });
  expect((await orderWithToken(simulator, token)).status).toBe(401);
  expect((await orderWithToken(simulator, await obtainToken(simulator))).status).toBe(200);
});

test.each([
  ["rst", { kind: "reset", when: "mid_answer" }],
  ["fin", { kind: "truncate" }],
] as const)("half of the announced body, and then a %s: %o", async (end, fault) => {
  const { simulator, token } = await simulateFault(fault);
  const to = { port: portOf(simulator.apiUrl), host: "127.0.0.1" };
  const { answer, ...ended } = await orderToTheEnd(to, rawOrder(token));
  expect(ended.end).toBe(end);
  expect(answer.body).toHaveLength(Math.floor(Number(answer.value("content-length")) / 2));
  expect(simulator.counts()).toMatchObject({ accepted: 1, cut: 1, apiAnswers: { 200: 1 } });
});

test("a close after the answer comes without `Connection: close`", async () => {
  const { simulator, token } = await simulateFault({ kind: "close_after_answer" });
  const agent = new Agent({ keepAlive: true });
  const closed = new Promise((resolve) => agent.on("free", (socket) => socket.once("close", resolve)));
  const answer = await send(`${simulator.apiUrl}/create_order`, {
    agent,
    headers: { ...json, authorization: `Bearer ${token}` },
    body: JSON.stringify(order("S1")),
  });
  expect(answer).toMatchObject({ status: 200, headers: { connection: "keep-alive" } });
  await closed;
  agent.destroy();
  expect(simulator.counts()).toMatchObject({ accepted: 1, cut: 0 });
});

describe("hanging", () => {
  test("lasts until it is released, and the order exists meanwhile", async () => {
    const { simulator, token } = await simulateWithToken();
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
    const { simulator, token } = await simulateFault({ kind: "hang" });
    const caller = await RawConnection.open(portOf(simulator.apiUrl));
    caller.write(bytesOf(token));
    await simulator.seen.whenApiRequests(1);
    await caller.leave();
    expect(await simulator.seen.whenApiAnswers(1)).toMatchObject([
      { orderId: "order_1", answer: { ending: "abandoned" } },
    ]);
    expect(simulator.counts()).toMatchObject({ accepted: 1, abandoned: 1, apiAnswers: {} });
    expect(simulator.faults.hanging).toBe(0);
  });

  test("is ended by stopping the host", async () => {
    const simulator = await simulate();
    simulator.faults.add({ host: "login", kind: "hang" });
    const answer = askForToken(simulator);
    await simulator.seen.whenTokenRequests(1);
    await simulator.stopLogin();
    expect((await answer).error).toMatch(/ECONNRESET$/);
  });
});

describe("slowness", () => {
  test.each([
    [200, { kind: "delay", delayMs: 60 }],
    [503, { kind: "answer", status: 503, delayMs: 60 }],
  ] as const)("delays the answer %i: %o", async (status, fault) => {
    const { simulator, token } = await simulateFault(fault);
    const startedMs = performance.now();
    expect((await orderWithToken(simulator, token)).status).toBe(status);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(58);
  });

  test("drips a body", async () => {
    const { simulator, token } = await simulateFault({ kind: "drip", chunkBytes: 60, intervalMs: 1 });
    let pieces = 0;
    const answer = await send(`${simulator.apiUrl}/create_order`, {
      headers: { ...json, authorization: `Bearer ${token}` },
      body: JSON.stringify(order("S1")),
      onPiece: () => {
        pieces += 1;
      },
    });
    expect(answer.json).toMatchObject({ status: "ok" });
    expect(pieces).toBeGreaterThan(1);
    expect(await simulator.seen.whenApiAnswers(1)).toMatchObject([{ answer: { status: 200, ending: "answered" } }]);
  });
});

describe("the plan of faults", () => {
  const unavailable = { kind: "answer", status: 503 } as const;

  test("plays faults in their order, each as often as asked", async () => {
    const { simulator, token } = await simulateFault({ ...unavailable, times: 2 });
    simulator.faults.add({ host: "api", kind: "reset", when: "before_reading" });
    simulator.faults.add({ host: "api", kind: "answer", status: 429 });
    const answers = [];
    for (let at = 0; at < 5; at += 1) {
      const { status, error } = await orderWithToken(simulator, token);
      answers.push(status ?? error);
    }
    expect(answers).toEqual([503, 503, reset, 429, 200]);
    expect(simulator.faults.list()).toEqual([]);
  });

  test("repeats a fault until it is cleared, and counts how often", async () => {
    const simulator = await simulate();
    const fault = simulator.faults.add({ host: "login", times: "until_cleared", ...unavailable });
    const played = fault.whenPlayed(3);
    for (let at = 0; at < 3; at += 1) expect((await askForToken(simulator)).status).toBe(503);
    await played;
    expect(fault).toMatchObject({ played: 3, remaining: "until_cleared" });
    fault.clear();
    expect((await askForToken(simulator)).status).toBe(200);
  });

  test.each([
    ["S2", [200, 503, 503]],
    ["K2", [200, 200, 503]],
  ])("applies a fault of %s only to its site, by the identifier that the fault names", async (site, statuses) => {
    const { simulator, token } = await simulateFault({ ...unavailable, site, times: "until_cleared" });
    for (const [at, identifier] of ["S1", "S2", "K2"].entries()) {
      expect((await orderWithToken(simulator, token, identifier)).status).toBe(statuses[at]);
    }
  });

  test("applies a fault only to its client", async () => {
    const simulator = await simulate();
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
});

test("the page shows every kind of fault, and none that is refused", () => {
  const page = readFileSync("simulator/README.md", "utf8");
  const faults = [...page.matchAll(/^\| `(\{.+?\})` \|/gm)].map(([, fault = ""]) => JSON.parse(fault));
  for (const fault of faults) expect(readFault(fault)).toBe(fault);
  const kinds = new Set(faults.map(({ kind }) => kind));
  expect(() => readFault({ host: "api" })).toThrow(new Error(`kind must be one of ${[...kinds].join(", ")}`));
});
