import { expect, test } from "vitest";
import { type ApiRequest, createHostLog } from "../../simulator/src/service/request-log.ts";
import { authority as ca, clientCertificate, clientKey, serverTls } from "../../testkit/certificates.ts";
import { RawConnection, rawPost } from "../../testkit/raw-caller.ts";
import {
  bytesOf,
  grant,
  json,
  nowSeconds,
  order,
  orderWithToken,
  parentCredentials,
  portOf,
  send,
  sendJson,
  signed,
  simulate,
  simulateWithToken,
} from "./simulate.ts";

test("keeps the exact bytes and headers of a request", async () => {
  const simulator = await simulate();
  const body = JSON.stringify(signed(order("K2"), "secret-k2"), null, 2);
  const headers = ["Host", "api.example", "Content-TYPE", "application/json", "X-Twice", "1", "x-twice", "2"];
  await send(`${simulator.apiUrl}/create_order`, { headers, body });
  const [seen] = simulator.seen.apiRequests;
  expect(seen).toMatchObject({
    number: 1,
    receivedAtMs: nowSeconds * 1000,
    method: "POST",
    target: "/json-api/create_order",
    auth: "hmac",
    site: "S2",
    token: undefined,
    refusal: undefined,
    orderId: "order_1",
    fault: undefined,
    answer: { status: 200, ending: "answered" },
  });
  expect(seen?.body.equals(Buffer.from(body))).toBe(true);
  expect(seen?.rawHeaders.slice(0, headers.length)).toEqual(headers);
});

test("resolves a wait for the n-th request at that request, and not earlier", async () => {
  const { simulator, token } = await simulateWithToken();
  let isAwake = false;
  const second = simulator.seen.whenApiRequests(2).then((requests) => {
    isAwake = true;
    return requests.length;
  });
  await orderWithToken(simulator, token);
  expect(isAwake).toBe(false);
  await orderWithToken(simulator, token);
  expect(await second).toBe(2);
  expect(await simulator.seen.whenApiRequests(1)).toHaveLength(2);
  expect(await simulator.seen.whenTokenAnswers(1)).toMatchObject([{ answer: { status: 200 } }]);
});

test("counts a request whose client left before the request was complete as incomplete", async () => {
  const { simulator, token } = await simulateWithToken();
  const caller = await RawConnection.open(portOf(simulator.apiUrl));
  caller.write(rawPost({ framing: ["Content-Length: 100", "Expect: 100-continue"], body: "{" }));
  // The interim answer shows that the head has arrived.
  await caller.until(/100 Continue/);
  await caller.leave();
  await orderWithToken(simulator, token);
  await expect.poll(() => simulator.counts()).toMatchObject({ apiRequests: 1, incomplete: 1 });
});

test("records an answer that its client did not wait for as abandoned", async () => {
  const { simulator, token } = await simulateWithToken();
  simulator.faults.add({ host: "api", kind: "answer", status: 200, body: "x".repeat(20_000_000) });
  const caller = await RawConnection.open(portOf(simulator.apiUrl));
  await caller.write(bytesOf(token)).until(/x/);
  await caller.leave();
  expect(await simulator.seen.whenApiAnswers(1)).toMatchObject([{ answer: { status: 200, ending: "abandoned" } }]);
  expect(simulator.counts()).toMatchObject({ replaced: 1, abandoned: 1, apiAnswers: { 200: 1 } });
});

test("forgets all but the last 10,000 requests, but counts them", () => {
  const log = createHostLog<ApiRequest>();
  for (let at = 0; at < 25_000; at += 1) log.add({} as ApiRequest);
  expect(log.arrived).toBe(25_000);
  expect(log.list()).toHaveLength(10_000);
  expect(log.list().at(0)?.number).toBe(15_001);
  expect(log.list().at(-1)?.number).toBe(25_000);
});

test("logs one line per request, without secrets", async () => {
  const lines: string[] = [];
  const { simulator, token } = await simulateWithToken({ log: (line) => lines.push(line) });
  await orderWithToken(simulator, token, "S2");
  await sendJson(`${simulator.apiUrl}/create_order`, order("S4"));
  simulator.faults.add({ host: "api", kind: "reset", when: "after_reading" });
  await orderWithToken(simulator, token);
  expect(lines).toEqual([
    "login POST /oauth/token parent-client token_1 -> 200 answered",
    "api POST /json-api/create_order S2 oauth token_1 order_1 -> 200 answered",
    "api POST /json-api/create_order S4 hmac missing_parameter -> 422 answered",
    "api POST /json-api/create_order S1 oauth token_1 order_2 fault=reset -> no answer cut",
  ]);
});

test("stops and starts the API on the same port, and keeps what it has seen", async () => {
  const { simulator, token } = await simulateWithToken();
  await orderWithToken(simulator, token);
  await simulator.stopApi();
  expect((await orderWithToken(simulator, token)).error).toBe("connect ECONNREFUSED");
  await simulator.startApi();
  expect((await orderWithToken(simulator, token)).json).toMatchObject({ order: { order_id: "order_2" } });
});

test("speaks TLS on both hosts, and can reset connections beneath TLS", async () => {
  const simulator = await simulate({ tls: serverTls });
  expect([simulator.apiUrl, simulator.loginUrl].every((url) => url.startsWith("https://127.0.0.1:"))).toBe(true);
  const body = JSON.stringify(grant(parentCredentials));
  const token = await send(`${simulator.loginUrl}/oauth/token`, { headers: json, body, ca });
  expect(token.json).toMatchObject({ access_token: "token_1" });
  const sending = { headers: { ...json, authorization: "Bearer token_1" }, body: JSON.stringify(order("S1")), ca };
  const url = `${simulator.apiUrl}/create_order`;
  expect((await send(url, sending)).status).toBe(200);
  for (const when of ["before_reading", "after_reading", "mid_answer"] as const) {
    simulator.faults.add({ host: "api", kind: "reset", when });
    expect((await send(url, sending)).error).toBe("read ECONNRESET");
  }
  simulator.faults.add({ host: "api", kind: "truncate" });
  expect(await send(url, sending)).toMatchObject({ status: 200, error: "ECONNRESET" });
  expect(simulator.counts()).toMatchObject({ accepted: 4, cut: 3, incomplete: 1 });
});

test("demands a client certificate if the options say so", async () => {
  const simulator = await simulate({ tls: { ...serverTls, ca, requestCert: true } });
  const sending = { headers: json, body: JSON.stringify(grant(parentCredentials)), ca };
  const url = `${simulator.loginUrl}/oauth/token`;
  expect((await send(url, sending)).error).toBeDefined();
  expect((await send(url, { ...sending, cert: clientCertificate, key: clientKey })).status).toBe(200);
  expect(simulator.counts().tokenRequests).toBe(1);
});
