/** Rows 46, 40: the answer comes at the deadline, never before, and is `unknown` only if a byte was written. */
import { describe, expect, it, onTestFinished } from "vitest";
import { startSimulator } from "../../simulator/src/service/simulator.ts";
import { call, order } from "../../testkit/call.ts";
import { serverTls, trusting } from "../../testkit/certificates.ts";
import { startFaultProxy } from "../../testkit/fault-proxy.ts";
import { RawConnection, rawPost, readAnswer } from "../../testkit/raw-caller.ts";
import { startRawUpstream } from "../../testkit/raw-upstream.ts";
import { ShiftedClock } from "../../testkit/shifted-clock.ts";
import { hmacSite, type Stage, stageProxy } from "../../testkit/stage.ts";

/** Promised are 100 ms; two shared cores get ten times that. */
const toleranceMs = 1_000;
const deadlineMs = 400;
const hurried = { "Countersign-Timeout-Ms": String(deadlineMs), "Countersign-Reference": "A-1042" };
const signed = { ...hurried, "Countersign-Site": hmacSite };
const patient = { requestMs: 15_000, connectMs: 10_000, tokenMs: 10_000 };

async function timed({ url }: Stage, headers: Record<string, string>) {
  const startedMs = performance.now();
  const answer = await call(url, order, { headers });
  return { ...answer, tookMs: performance.now() - startedMs };
}

/** The answer came at this moment, with this problem. */
function expectAt({ tookMs, json }: Awaited<ReturnType<typeof timed>>, dueMs: number, problem: object) {
  // Node's timers may be a millisecond early.
  expect(tookMs).toBeGreaterThanOrEqual(dueMs - 2);
  expect(tookMs).toBeLessThan(dueMs + toleranceMs);
  expect(json).toMatchObject(problem);
}

const unknown = { status: 504, code: "upstream_timeout", outcome: "unknown" };
const noToken = { status: 503, code: "token_unavailable", outcome: "not_sent" };

describe("504 upstream_timeout, unknown, once a byte was written", () => {
  it("no answer comes by the caller's own deadline", async () => {
    const stage = await stageProxy();
    const hanging = stage.simulator.faults.add({ host: "api", kind: "hang" });
    const answer = await timed(stage, signed);
    expect(answer.status).toBe(504);
    expect(answer.headers).toMatchObject({ "countersign-error": "upstream_timeout", "countersign-outcome": "unknown" });
    expectAt(answer, deadlineMs, { ...unknown, reference: "A-1042" });
    expect(answer.json.detail).toContain("The order may exist: look for reference A-1042 before sending it again.");
    expect(hanging.played).toBe(1);
    expect(stage.simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1 });
    expect(await stage.recorder.nth("request_finished", 1)).toMatchObject({ stage: "send", outcome: "unknown" });
  });

  it("no answer comes by timeouts.request", async () => {
    const stage = await stageProxy({ timeouts: { requestMs: 700, connectMs: 500, tokenMs: 500 } });
    stage.simulator.faults.add({ host: "api", kind: "hang" });
    const answer = await timed(stage, {});
    expectAt(answer, 700, unknown);
  });

  it("the answer stops after its head", async () => {
    const upstream = await startRawUpstream({
      answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
    });
    const stage = await stageProxy({ baseUrl: upstream.url });
    const answer = await timed(stage, signed);
    expectAt(answer, deadlineMs, unknown);
    expect(upstream.requests).toHaveLength(1);
  });

  it("the retry after a 401 is not answered", async () => {
    const stage = await stageProxy();
    expect((await call(stage.url)).status).toBe(200);
    stage.simulator.revokeAllTokens();
    stage.simulator.faults.add({ host: "api", kind: "delay", delayMs: 1 });
    stage.simulator.faults.add({ host: "api", kind: "hang" });
    const answer = await timed(stage, { "Countersign-Timeout-Ms": "2500" });
    expectAt(answer, 2_500, unknown);
    expect(answer.headers["countersign-attempts"]).toBe("2");
    expect(stage.simulator.counts()).toMatchObject({ apiRequests: 3, tokensIssued: 2 });
  });
});

it("an answer that drips beyond the deadline is cut, and reported as unknown", async () => {
  const clock = new ShiftedClock();
  const { port, simulator, recorder } = await stageProxy({
    surroundings: { clock },
    timeouts: { requestMs: 60_000, connectMs: 10_000, tokenMs: 10_000 },
  });
  simulator.faults.add({ host: "api", kind: "drip", chunkBytes: 1, intervalMs: 50 });
  const caller = await RawConnection.open(port);
  await caller.write(rawPost({ more: [`Countersign-Site: ${hmacSite}`] })).until(/\{/);
  clock.push(30_000);
  await caller.until(/\{.*".*s/s);
  clock.push(30_000);
  expect(readAnswer(await caller.ended())).toMatchObject({ status: 200, isComplete: false });
  const end = await recorder.nth("request_finished", 1);
  expect(end).toMatchObject({ code: "upstream_timeout", outcome: "unknown", stage: "stream_answer", by: "service" });
});

describe("504 upstream_timeout, not_sent, while no connection was ready", () => {
  it("a service that never finishes the TLS handshake", async () => {
    const upstream = await startRawUpstream();
    const stage = await stageProxy({ baseUrl: upstream.url.replace("http:", "https:"), timeouts: patient });
    const answer = await timed(stage, signed);
    expectAt(answer, deadlineMs, { ...unknown, outcome: "not_sent" });
    expect(answer.json.detail).toMatch(/Nothing was sent\.$/);
    expect(upstream.connections).toBe(1);
  });

  it("and it is not sent after all when that handshake finishes later", async () => {
    const simulator = await startSimulator({ sites: [], tls: serverTls });
    onTestFinished(() => simulator.stop());
    const gate = await startFaultProxy(simulator.apiUrl);
    gate.toTarget.become({ blackHole: true });
    const stage = await stageProxy({
      baseUrl: `https://localhost:${gate.port}/json-api`,
      environment: { tls: trusting },
      timeouts: patient,
    });
    expect((await timed(stage, signed)).json).toMatchObject({ status: 504, outcome: "not_sent" });
    gate.heal();
    const next = await call(
      stage.url,
      { ...order, order_currency: "SEK" },
      { headers: { "Countersign-Site": hmacSite } },
    );
    expect(next.headers["countersign-outcome"]).toBe("answered");
    const bodies = simulator.seen.apiRequests.map(({ body }) => JSON.parse(body.toString()).order_currency);
    expect(bodies).toEqual(["SEK"]);
  });
});

describe("the wait for a token lies within the deadline", () => {
  it("503 token_unavailable at timeouts.token, with Retry-After, while the authorization server hangs", async () => {
    const stage = await stageProxy({ timeouts: { requestMs: 15_000, tokenMs: 600 } });
    stage.simulator.faults.add({ host: "login", kind: "hang", times: "until_cleared" });
    const answer = await timed(stage, {});
    expectAt(answer, 600, noToken);
    expect(answer.headers["retry-after"]).toMatch(/^\d+$/);
    expect(stage.simulator.counts()).toMatchObject({ apiRequests: 0, tokenRequests: 1 });
  });

  it("503 at the caller's deadline where that is sooner", async () => {
    const stage = await stageProxy({ timeouts: patient });
    stage.simulator.faults.add({ host: "login", kind: "hang", times: "until_cleared" });
    const answer = await timed(stage, hurried);
    expectAt(answer, deadlineMs, noToken);
    expect(stage.simulator.counts().apiRequests).toBe(0);
  });
});
