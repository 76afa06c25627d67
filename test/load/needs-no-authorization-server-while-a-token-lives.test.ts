/** While a token is valid callers notice no fault of the authorization server; then 503 in time. */
import { describe, expect, it, vi } from "vitest";
import { call } from "../../testkit/call.ts";
import { dueMs, expiredMs } from "../../testkit/stage/service.ts";
import { stage } from "../../testkit/stage.ts";

const marginMs = 10_000;
/** `timeouts.token`, if an order has to wait. */
const tokenMs = 700;

describe("an authorization server in trouble is invisible while the token is due", () => {
  it.each([
    ["hangs", { kind: "hang" }],
    ["answers 500", { kind: "answer", status: 500 }],
    ["answers 503 with Retry-After", { kind: "answer", status: 503, headers: { "Retry-After": "60" } }],
    ["answers 429", { kind: "answer", status: 429, headers: { "Retry-After": "600" } }],
    ["answers 401", { kind: "answer", status: 401 }],
    ["answers malformed", { kind: "answer", status: 200, body: "<html>" }],
    ["drips", { kind: "drip", intervalMs: 200 }],
    ["resets", { kind: "reset", when: "after_reading" }],
    ["truncates", { kind: "truncate" }],
  ] as const)("%s", async (_name, fault) => {
    const { simulator, clock, callOften } = await stageWaiting(10_000);
    const planned = simulator.faults.add({ host: "login", times: "until_cleared", ...fault });
    clock.push(dueMs + marginMs);
    await planned.whenPlayed(1);
    await callOften();
    expect(simulator.seen.apiRequests.map(({ token }) => token)).toEqual(Array(51).fill("token_1"));
  });

  it("and its return is noticed without a failed or slow call", async () => {
    const { simulator, clock, callOften, recorder } = await stageWaiting(10_000);
    await simulator.stopLogin();
    clock.push(dueMs + marginMs);
    await recorder.nth("token_requested", 5, ({ result }) => result === "failed");
    await simulator.startLogin();
    clock.push(3_000);
    await recorder.nth("token_adopted", 2);
    await callOften();
    expect(simulator.seen.apiRequests.map(({ token }) => token)).toEqual(["token_1", ...Array(50).fill("token_2")]);
    expect(simulator.counts().tokensIssued).toBe(2);
  });

  it("and the new token is used as soon as a slow one comes", async () => {
    const { url, simulator, clock, callOften, recorder } = await stageWaiting(10_000);
    const hanging = simulator.faults.add({ host: "login", kind: "hang" });
    clock.push(dueMs + marginMs);
    await hanging.whenPlayed(1);
    await callOften();
    hanging.release();
    await recorder.nth("token_adopted", 2);
    expect((await call(url)).status).toBe(200);
    expect(simulator.seen.apiRequests.at(-1)?.token).toBe("token_2");
    expect(simulator.counts()).toMatchObject({ tokenRequests: 2, tokensIssued: 2 });
  });
});

describe("once the token has expired", () => {
  it("callers get 503 with Retry-After while the authorization server is gone, though the service would accept the token, and 200 when it is back", async () => {
    const { url, simulator, clock, recorder } = await stageWaiting(tokenMs);
    await simulator.stopLogin();
    clock.push(expiredMs - marginMs);
    expect((await call(url)).status).toBe(200);
    clock.push(2 * marginMs);
    const startedMs = performance.now();
    const answer = await call(url);
    expect(performance.now() - startedMs).toBeLessThan(tokenMs + 1_000);
    expect(answer.json).toMatchObject({ status: 503, code: "token_unavailable", outcome: "not_sent" });
    expect(answer.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
    expect(simulator.counts()).toMatchObject({ apiRequests: 2, accepted: 2, tokensIssued: 1 });
    await simulator.startLogin();
    await recorder.nth("token_requested", 5, ({ result }) => result === "failed");
    clock.push(30_000);
    expect((await call(url)).status).toBe(200);
    expect(simulator.seen.apiRequests.map(({ token }) => token)).toEqual(["token_1", "token_1", "token_2"]);
  });

  it("an authorization server that answers 500 gets five requests, then there is a back-off", async () => {
    const { url, simulator, expire, recorder } = await stageWaiting(tokenMs);
    simulator.faults.add({ host: "login", kind: "answer", status: 500, times: "until_cleared" });
    expire();
    const answers = [await call(url)];
    await recorder.nth("token_requested", 5, ({ result }) => result === "failed");
    const before = simulator.counts().tokenRequests;
    for (let n = 0; n < 10; n++) answers.push(await call(url));
    expect(answers.map(({ json }) => json.code)).toEqual(Array(11).fill("token_unavailable"));
    expect(answers.every(({ headers }) => Number(headers["retry-after"]) >= 1)).toBe(true);
    expect(before).toBe(6);
    expect(simulator.counts()).toMatchObject({ apiRequests: 1, tokensIssued: 1 });
    expect(simulator.counts().tokenRequests - before).toBeLessThanOrEqual(1);
  });

  it("a token request that hangs ends after `timeouts.token`, and another one serves the next caller", async () => {
    const { url, simulator, expire, recorder } = await stageWaiting(tokenMs);
    const hanging = simulator.faults.add({ host: "login", kind: "hang" });
    expire();
    const startedMs = performance.now();
    const waiting = call(url);
    await hanging.whenPlayed(1);
    expect((await waiting).json).toMatchObject({ status: 503, code: "token_unavailable", outcome: "not_sent" });
    expect((await waiting).headers["retry-after"]).toMatch(/^\d+$/);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(tokenMs - 3);
    expect(performance.now() - startedMs).toBeLessThan(tokenMs + 1_000);
    const asked = await recorder.nth("token_requested", 2);
    expect(asked).toMatchObject({ result: "timed_out" });
    expect(asked.durationMs).toBeLessThan(tokenMs + 1_000);
    await vi.waitFor(async () => expect((await call(url)).status).toBe(200), { timeout: 20_000 });
    expect(simulator.counts()).toMatchObject({ tokenRequests: 3, accepted: 2 });
  });
});

async function stageWaiting(longestWaitMs: number) {
  const living = await stage("living", { timeouts: { requestMs: 15_000, tokenMs: longestWaitMs } });
  /** Fifty calls, one after another so that each meets the state that the last one left; returns their statuses and the slowest time. */
  const callOften = async () => {
    let slowestMs = 0;
    const failed: unknown[] = [];
    for (let n = 0; n < 50; n++) {
      const startedMs = performance.now();
      const { status, text } = await call(living.url);
      slowestMs = Math.max(slowestMs, performance.now() - startedMs);
      if (status !== 200) failed.push({ n, status, text });
    }
    expect(failed).toEqual([]);
    // Far below timeouts.token: no order waited for the authorization server.
    expect(slowestMs).toBeLessThan(3_000);
  };
  return { ...living, callOften };
}
