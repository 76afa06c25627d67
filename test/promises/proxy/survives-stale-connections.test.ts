/** Row 44: a kept connection that the service has closed costs no request, and never sends one twice. */
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { openServicePool } from "../../../testkit/service-pool.ts";
import { hmacSite, stageProxy } from "../../../testkit/stage.ts";

const signed = { headers: { "Countersign-Site": hmacSite } };

it("serves call after call where every answer is followed by an unannounced close", async () => {
  const { url, simulator, recorder } = await stageProxy();
  simulator.faults.add({ host: "api", kind: "close_after_answer", times: "until_cleared" });
  const answers = [];
  for (let n = 0; n < 50; n++) answers.push(await call(url));
  const served = answers.filter(({ status }) => status === 200).length;
  const unknown = answers.filter(({ json }) => json.code === "upstream_reset" && json.outcome === "unknown").length;
  expect(served + unknown).toBe(50);
  expect(simulator.counts()).toMatchObject({ accepted: served, apiRequests: served, tokensIssued: 1 });
  expect(recorder.of("request_finished").every(({ attempts }) => attempts === 1)).toBe(true);
});

it("opens a new connection when the kept one was closed while it was idle", async () => {
  const upstream = await startRawUpstream({
    answer: (_request, socket) => socket.write(rawAnswer(200, "{}"), () => setImmediate(() => socket.end())),
  });
  const { url } = await stageProxy({ baseUrl: upstream.url });
  for (let n = 1; n <= 20; n++) {
    expect((await call(url, order, signed)).status).toBe(200);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  }
  expect(upstream.requests).toHaveLength(20);
});

it("looks for a close once more before it uses a connection that was idle for long", async () => {
  const sockets: Socket[] = [];
  const accept = (socket: Socket) => void sockets.push(socket);
  const upstream = await startRawUpstream({ accept, answer: rawAnswer(200, "{}") });
  const { outcome, clock } = openServicePool(upstream.url);
  expect(await outcome()).toBe("200 {}");
  clock.push(1_000);
  const second = outcome();
  // This turn of the event loop reads no more.
  sockets[0]?.destroy();
  expect(await second).toBe("200 {}");
  expect(upstream.connections).toBe(2);
});

it("does not resend what was written into a connection that closes at this moment", async () => {
  const upstream = await startRawUpstream({
    answer: ({ number }, socket) => {
      if (number === 1) socket.write(rawAnswer(200, "{}"));
      else socket.resetAndDestroy();
    },
  });
  const { url } = await stageProxy({ baseUrl: upstream.url });
  expect((await call(url, order, signed)).status).toBe(200);
  const answer = await call(url, order, signed);
  expect(answer.status).toBe(502);
  expect(answer.json).toMatchObject({ code: "upstream_reset", outcome: "unknown" });
  expect(upstream.connections).toBe(1);
  expect(upstream.requests).toHaveLength(2);
});

it("sends no more requests over one connection than keepAlive.requests, to the service and to the authorization server", async () => {
  // What both hosts answer: to an order this is any text.
  const upstream = await startRawUpstream({
    answer: rawAnswer(200, '{"access_token":"a","token_type":"Bearer","expires_in":90}'),
  });
  const environment = { requestsPerConnection: 1 };
  const { url } = await stageProxy({ baseUrl: upstream.url, authUrl: upstream.url, environment });
  for (let n = 1; n <= 5; n++) expect((await call(url)).status).toBe(200);
  expect(upstream.requests.length).toBeGreaterThan(5);
  expect(upstream.spoken).toBe(upstream.requests.length);
});
