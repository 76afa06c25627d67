/** Spec 5.4: what the caller gets when the retry is refused, impossible or fails. HMAC and 403 are never retried. */
import { describe, expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { orderRaw } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, oauthSite, type Stage, stageProxy } from "../../../testkit/stage.ts";

const firstBody = '{"error": "first",\n  "odd":1.0}';
const firstHeaders = "X-Request-Id: api-1\r\nWWW-Authenticate: Bearer error=one\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n";
const first401 = rawAnswer(401, firstBody, firstHeaders);
const secondBody = '{"error": "second"}';
const second401 = rawAnswer(401, secondBody, "X-Request-Id: api-2\r\nWWW-Authenticate: Bearer error=two\r\n");

/** A service that gives these answers in turn and then resets; the proxy has had its token for a while. */
async function stageAnswers(
  answers: readonly string[],
  options: Parameters<typeof stageProxy>[0] = {},
): Promise<Stage & { upstream: Awaited<ReturnType<typeof startRawUpstream>> }> {
  const upstream = await startRawUpstream({
    answer: ({ number }, socket) => {
      const bytes = answers[number - 1];
      if (bytes === undefined) socket.resetAndDestroy();
      else socket.write(bytes, "latin1");
    },
  });
  const stage = await stageProxy({ baseUrl: upstream.url, ...options });
  await stage.recorder.nth("token_adopted", 1);
  // Two refreshes are at least a second apart.
  stage.clock.push(1_000);
  return { ...stage, upstream };
}

function expectFirst(answer: Awaited<ReturnType<typeof orderRaw>>) {
  expect(answer).toMatchObject({ status: 401, body: firstBody, isComplete: true });
  for (const line of firstHeaders.trim().split("\r\n")) expect(answer.lines).toContain(line);
  expect(answer.value("countersign-outcome")).toBe("answered");
  expect(answer.value("countersign-error")).toBeUndefined();
  expect(answer.value("countersign-attempts")).toBeUndefined();
}

describe("a second 401", () => {
  it("is passed on byte for byte, and both are reported with what correlates them", async () => {
    const { port, upstream, recorder, simulator } = await stageAnswers([first401, second401]);
    const answer = await orderRaw(port, { "Countersign-Reference": "A-1042" });
    expect(answer).toMatchObject({ status: 401, body: secondBody, isComplete: true });
    expect(answer.lines).toContain("WWW-Authenticate: Bearer error=two");
    expect(answer.value("countersign-attempts")).toBe("2");
    expect(upstream.requests).toHaveLength(2);
    expect(simulator.counts().tokensIssued).toBe(2);
    const known = {
      kind: "upstream_unauthorized",
      environment: "sandbox",
      site: oauthSite,
      auth: "oauth",
      credential: `${oauthSite}/blue`,
      requestId: answer.value("countersign-request-id"),
      reference: "A-1042",
    };
    expect(recorder.of("upstream_unauthorized")).toEqual([
      { ...known, attempt: 1, upstreamHeaders: { "x-request-id": "api-1" } },
      { ...known, attempt: 2, upstreamHeaders: { "x-request-id": "api-2" } },
    ]);
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ retry: "refused" });
  });

  it("is passed on whole where it is longer than what is held in memory", async () => {
    const long = "y".repeat(300_000);
    const { port } = await stageAnswers([rawAnswer(401, "x".repeat(300_000)), rawAnswer(401, long)]);
    const answer = await orderRaw(port);
    expect(answer).toMatchObject({ status: 401, isComplete: true });
    expect(answer.body === long).toBe(true);
  });
});

describe("the first 401 is passed on", () => {
  it.each([
    ["answers 500 for ever", { kind: "answer", status: 500 }, 5],
    ["refuses the credentials", { kind: "answer", status: 401 }, 1],
    ["answers 429", { kind: "answer", status: 429, headers: { "Retry-After": "60" } }, 1],
    ["answers malformed", { kind: "answer", status: 200, body: "<html>" }, 5],
    ["resets", { kind: "reset", when: "before_reading" }, 5],
  ] as const)("when the authorization server %s", async (_name, fault, tokenRequests) => {
    // Time for all that a refresh tries.
    const timeouts = { requestMs: 20_000, tokenMs: 10_000 };
    const { port, upstream, simulator, recorder } = await stageAnswers([first401], { oneSet: true, timeouts });
    simulator.faults.add({ host: "login", times: "until_cleared", ...fault });
    expectFirst(await orderRaw(port));
    expect(upstream.requests).toHaveLength(1);
    const forced = recorder.of("token_requested").filter(({ reason }) => reason === "unauthorized");
    expect(forced).toHaveLength(tokenRequests);
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ retry: "not_possible", retryReason: "no_token" });
  });

  it("when the authorization server is gone", async () => {
    const { port, upstream, simulator } = await stageAnswers([first401]);
    await simulator.stopLogin();
    expectFirst(await orderRaw(port));
    expect(upstream.requests).toHaveLength(1);
  });

  it("when a retry could no longer be answered in time, as the authorization server hangs", async () => {
    const { port, upstream, simulator, recorder } = await stageAnswers([first401]);
    simulator.faults.add({ host: "login", kind: "hang" });
    const startedMs = performance.now();
    expectFirst(await orderRaw(port, { "Countersign-Timeout-Ms": "800" }));
    const tookMs = performance.now() - startedMs;
    const { upstreamMs = 0, retryReason } = await recorder.nth("request_finished", 1);
    expect(retryReason).toBe("too_late");
    expect(tookMs).toBeGreaterThanOrEqual(798 - Math.max(80, upstreamMs));
    expect(tookMs).toBeLessThan(1_800);
    expect(upstream.requests).toHaveLength(1);
  });

  it("when a refresh is suppressed, because the last new token did not help either", async () => {
    const { port, upstream, recorder, simulator } = await stageAnswers([first401, second401, first401]);
    expect((await orderRaw(port)).body).toBe(secondBody);
    expectFirst(await orderRaw(port));
    expect(upstream.requests).toHaveLength(3);
    expect(simulator.counts().tokensIssued).toBe(2);
    expect(recorder.of("refresh_suppressed")).toEqual([
      {
        kind: "refresh_suppressed",
        environment: "sandbox",
        credential: `${oauthSite}/blue`,
        site: oauthSite,
        reason: "paused",
      },
    ]);
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ retry: "refused" });
    expect(await recorder.nth("request_finished", 2)).toMatchObject({ retry: "not_possible", retryReason: "paused" });
  });

  it("when the second connection is refused before a byte", async () => {
    const upstream = await startRawUpstream({
      answer: (_request, socket) => {
        upstream.refuse();
        socket.end(first401);
      },
    });
    const { port, recorder } = await stageProxy({ baseUrl: upstream.url });
    expectFirst(await orderRaw(port));
    expect(upstream.requests).toHaveLength(1);
    const told = { status: 401, outcome: "answered", attempts: 1, retry: "failed" };
    expect(await recorder.nth("request_finished", 1)).toMatchObject(told);
  });

  it("whole, where it is longer than what is held in memory", async () => {
    const long = "x".repeat(300_000);
    const { port, simulator } = await stageAnswers([rawAnswer(401, long)]);
    await simulator.stopLogin();
    const answer = await orderRaw(port);
    expect(answer).toMatchObject({ status: 401, isComplete: true });
    expect(answer.body === long).toBe(true);
  });
});

it("a second attempt that breaks after bytes were written is 502 unknown", async () => {
  const { port, upstream } = await stageAnswers([first401]);
  const answer = await orderRaw(port);
  expect(answer.status).toBe(502);
  expect(JSON.parse(answer.body)).toMatchObject({ code: "upstream_reset", outcome: "unknown" });
  expect(answer.value("countersign-attempts")).toBe("2");
  expect(upstream.requests).toHaveLength(2);
});

describe("no retry, no token", () => {
  it("after a 401 with HMAC", async () => {
    const { port, upstream, recorder } = await stageAnswers([first401]);
    expectFirst(await orderRaw(port, { "Countersign-Site": hmacSite }));
    expect(upstream.requests).toHaveLength(1);
    expect(recorder.of("upstream_unauthorized")).toMatchObject([
      { auth: "hmac", attempt: 1, site: hmacSite, credential: undefined, upstreamHeaders: { "x-request-id": "api-1" } },
    ]);
    expect((await recorder.nth("request_finished", 1)).retry).toBeUndefined();
  });

  it.each([oauthSite, hmacSite])("after a 403 of %s", async (site) => {
    const { url, simulator, recorder } = await stageProxy();
    await recorder.nth("token_adopted", 1);
    simulator.faults.add({ host: "api", kind: "answer", status: 403, body: "no" });
    const answer = await call(url, order, { headers: { "Countersign-Site": site } });
    expect(answer).toMatchObject({ status: 403, text: "no" });
    expect(simulator.counts()).toMatchObject({ apiRequests: 1, tokensIssued: 1 });
    expect(recorder.count("upstream_unauthorized")).toBe(0);
  });
});
