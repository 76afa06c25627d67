/** Row 42: refused, unknown name, a host that closes or says nothing during the TLS handshake: 502 not_sent. */
import { expect, it } from "vitest";
import { type CallOptions, call, order } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, type Stage, stageProxy } from "../../../testkit/stage.ts";

const signed: CallOptions = { headers: { "Countersign-Site": hmacSite, "Countersign-Reference": "A-1042" } };

async function expectUnreachable({ url, recorder }: Stage, because: RegExp) {
  const failure = { status: 502, code: "upstream_unreachable", detail: because, reference: "A-1042" } as const;
  expectFailure(await call(url, order, signed), failure);
  const end = await recorder.nth("request_finished", 1);
  expect(end).toMatchObject({ code: "upstream_unreachable", outcome: "not_sent", stage: "send", attempts: 1 });
}

it("a port on which nothing listens", async () => {
  const stage = await stageProxy();
  await stage.simulator.stopApi();
  await expectUnreachable(stage, /refuses connections \(ECONNREFUSED\)/);
  expect(stage.simulator.counts()).toMatchObject({ apiRequests: 0, apiConnections: 0 });
});

it("a name that does not exist", async () => {
  const stage = await stageProxy({ baseUrl: "http://api.countersign.invalid/json-api" });
  await expectUnreachable(stage, /could not be resolved \((ENOTFOUND|EAI_AGAIN)\)|in time \(CONNECT_TIMEOUT\)/);
  expect(stage.simulator.counts().apiRequests).toBe(0);
});

it("a host that closes during the TLS handshake, after one reconnect", async () => {
  const upstream = await startRawUpstream({ receive: (_bytes, socket) => socket.destroy() });
  const stage = await stageProxy({ baseUrl: upstream.url.replace("http:", "https:") });
  await expectUnreachable(stage, /closed the connection while it was being set up \(ECONNRESET\)/);
  expect(upstream.connections).toBe(2);
});

it("a host that speaks plain HTTP where TLS is due, after one reconnect", async () => {
  const upstream = await startRawUpstream({
    receive: (_bytes, socket) => socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
  });
  const stage = await stageProxy({ baseUrl: upstream.url.replace("http:", "https:") });
  await expectUnreachable(stage, /TLS certificate or protocol is not acceptable/);
  expect(upstream.connections).toBe(2);
  expect(upstream.requests).toEqual([]);
});

it("a host that never answers the TLS handshake, after timeouts.connect and one reconnect", async () => {
  const upstream = await startRawUpstream();
  const stage = await stageProxy({
    baseUrl: upstream.url.replace("http:", "https:"),
    timeouts: { requestMs: 15_000, connectMs: 200 },
  });
  await expectUnreachable(stage, /did not accept a connection in time/);
  expect(upstream.connections).toBe(2);
});

it("is back as soon as the service is", async () => {
  const { url, simulator } = await stageProxy();
  await simulator.stopApi();
  const statuses = [(await call(url)).status];
  await simulator.startApi();
  statuses.push((await call(url)).status);
  expect(statuses).toEqual([502, 200]);
  expect(simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1, tokensIssued: 1 });
});
