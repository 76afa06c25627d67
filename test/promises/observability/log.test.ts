/** Product section 5: one JSON object a line, an access line per request, an event line per token event. */
import { expect, it } from "vitest";
import type { Event } from "../../../src/model/events.ts";
import { call, order } from "../../../testkit/call.ts";
import { accessLines, logOf } from "../../../testkit/log-lines.ts";
import { hmacSite, oauthSite, stageProxy } from "../../../testkit/stage.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const blue = `${oauthSite}/blue`;

it("writes an access line that says who asked for what, what came of it, and where the time went", async () => {
  const { url, recorder, simulator } = await stageProxy();
  const theirs = { headers: { "x-request-id": "theirs-7" }, body: '{"id":7}' };
  simulator.faults.add({ host: "api", kind: "answer", status: 200, ...theirs });
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
  const headers = { "Countersign-Reference": "A-1042", traceparent, "X-Request-Id": "gateway-7" };
  const answer = await call(url, order, { headers });
  const [line, ...more] = await accessLines({ recorder }, 1);
  expect(more).toEqual([]);
  expect(line).toEqual({
    level: "info",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    event: "request_finished",
    message: `create_order for ${oauthSite}: 200, answered`,
    environment: "sandbox",
    requestId: answer.headers["countersign-request-id"],
    traceId,
    reference: "A-1042",
    site: oauthSite,
    auth: "oauth",
    operation: "create_order",
    status: 200,
    by: "service",
    outcome: "answered",
    stage: "stream_answer",
    attempts: 1,
    durationMs: expect.any(Number),
    upstreamMs: expect.any(Number),
    overheadMs: expect.any(Number),
    method: "POST",
    target: "/create_order",
    listener: "127.0.0.1:0",
    callerAddress: "127.0.0.1",
    callerRequestId: "gateway-7",
    credential: blue,
    tokenWaitMs: expect.any(Number),
    connectMs: expect.any(Number),
    requestBytes: JSON.stringify(order).length,
    responseBytes: answer.text.length,
    upstreamHeaders: { "x-request-id": "theirs-7" },
  });
  expect(line.durationMs).toBeGreaterThanOrEqual(line.upstreamMs);
  for (const ms of [line.durationMs, line.upstreamMs, line.overheadMs, line.tokenWaitMs, line.connectMs])
    expect(`${ms}`).toMatch(/^\d+(\.\d{1,3})?$/);
});

it("writes the operation as it was called, where metrics say other", async () => {
  const { url, recorder } = await stageProxy();
  await call(url, order, { path: "/refund_order" });
  const [line] = await accessLines({ recorder }, 1);
  expect(recorder.of("request_finished")[0]?.operationLabel).toBe("other");
  expect(line).toMatchObject({ operation: "refund_order", status: 403, code: "operation_not_allowed", attempts: 0 });
  expect(line).not.toHaveProperty("site");
  expect(line).not.toHaveProperty("upstreamMs");
});

it("grades access lines by what an operator has to do: nothing, fix the call, look the order up", async () => {
  const { url, recorder, simulator } = await stageProxy();
  await call(url);
  await call(url, "{");
  simulator.faults.add({ host: "api", kind: "reset", when: "after_reading" });
  await call(url);
  const lines = await accessLines({ recorder }, 3);
  expect(lines.map(({ level, outcome, code }) => [level, outcome, code])).toEqual([
    ["info", "answered", undefined],
    ["warn", "not_sent", "body_not_json"],
    ["error", "unknown", "upstream_reset"],
  ]);
});

const grades = [
  ...[200, 302].map((status) => [status, "info"] as const),
  ...[400, 403, 404, 422, 429].map((status) => [status, "warn"] as const),
  ...[500, 502, 503, 504].map((status) => [status, "error"] as const),
];

it.each(grades)("grades the service's own %i as %s: an order that did not succeed is seen", async (status, level) => {
  const { url, recorder, simulator } = await stageProxy();
  simulator.faults.add({ host: "api", kind: "answer", status });
  expect((await call(url)).status).toBe(status);
  const [line] = await accessLines({ recorder }, 1);
  expect(line).toMatchObject({ level, status, by: "service", outcome: status >= 500 ? "unknown" : "answered" });
  // What docs/operations.md greps for.
  const shown = logOf(recorder.events, "info")
    .text.split("\n")
    .filter((text) => !text.includes('"level":"info"'));
  expect(shown.some((text) => text.includes("request_finished"))).toBe(level !== "info");
});

it("warns of a 401 that stays in one line, with both methods, which says what came of the retry", async () => {
  const { url, recorder, simulator } = await stageProxy({ oneSet: true });
  const callerRequestId = "shop-4711";
  const answer401 = (times: number, more = {}) => {
    simulator.faults.add({ host: "api", kind: "answer", status: 401, times });
    return call(url, order, { headers: { "X-Request-Id": callerRequestId, ...more } });
  };
  await answer401(1);
  await answer401(2);
  await answer401(1);
  await answer401(1, { "Countersign-Site": hmacSite });
  await recorder.nth("request_finished", 4);
  const log = logOf(recorder.events, "info");
  expect(log.of("request_finished").map(({ level, message }) => [level, message])).toEqual([
    ["info", `create_order for ${oauthSite}: 200, answered, 2 attempts`],
    ["warn", `create_order for ${oauthSite}: 401 from the service, answered, 2 attempts`],
    ["warn", `create_order for ${oauthSite}: 401 from the service, answered, no retry (paused)`],
    ["warn", `create_order for ${hmacSite}: 401 from the service, answered`],
  ]);
  const warnings = log.of().filter(({ level }) => level !== "info");
  expect(warnings).toMatchObject([
    { event: "request_finished", callerRequestId, attempts: 2, retry: "refused" },
    { event: "request_finished", callerRequestId, attempts: 1, retry: "not_possible", retryReason: "paused" },
    { event: "request_finished", callerRequestId, auth: "hmac" },
  ]);
  expect(warnings[2]).not.toHaveProperty("retry");
});

it("logs both 401s with all that the service's support asks for", async () => {
  const config = { log: { level: "info", upstreamHeaders: ["x-request-id", "x-trace"] } } as const;
  const { url, recorder, simulator } = await stageProxy({ config });
  for (const n of [1, 2]) {
    const headers = { "X-Request-Id": `theirs-${n}`, "X-Other": "no" };
    simulator.faults.add({ host: "api", kind: "answer", status: 401, headers });
  }
  const answer = await call(url, order, { headers: { "Countersign-Reference": "A-1042" } });
  expect(answer.headers["countersign-attempts"]).toBe("2");
  await recorder.nth("request_finished", 1);
  const log = logOf(recorder.events, "info");
  const requestId = answer.headers["countersign-request-id"];
  const ofSite = { environment: "sandbox", site: oauthSite, auth: "oauth", credential: blue };
  const told = { level: "info", requestId, reference: "A-1042", ...ofSite };
  const [first, second, ...more] = log.of("upstream_unauthorized");
  expect(more).toEqual([]);
  expect(first).toMatchObject({ ...told, attempt: 1, upstreamHeaders: { "x-request-id": "theirs-1" } });
  expect(second).toMatchObject({ ...told, attempt: 2, upstreamHeaders: { "x-request-id": "theirs-2" } });
  for (const { upstreamHeaders } of [first, second]) expect(Object.keys(upstreamHeaders)).toEqual(["x-request-id"]);
  expect(second.message).toContain("again");
  expect(log.of("request_finished")).toMatchObject([{ site: oauthSite, retry: "refused" }]);
});

it("writes a line for every token event, at a higher level the rarer it is", async () => {
  const { url, recorder, simulator } = await stageProxy({ oneSet: true });
  await recorder.nth("token_adopted", 1);
  await call(url);
  simulator.faults.add({ host: "api", kind: "answer", status: 401, times: 3 });
  await call(url);
  await call(url);
  await recorder.nth("request_finished", 3);
  const log = logOf(recorder.events, "trace");
  expect(log.of("token_requested")).toMatchObject([
    { level: "info", credential: blue, result: "issued", reason: "start", status: 200, durationMs: expect.any(Number) },
    { level: "info", credential: blue, result: "issued", reason: "unauthorized" },
  ]);
  expect(log.of("token_adopted")[0]).toMatchObject({ level: "debug", credential: blue, lifetimeMs: 86_400_000 });
  expect(log.of("token_cache_read")[0]).toMatchObject({ level: "trace", tier: "memory", result: "hit" });
  expect(log.of("refresh_lock_tried")[0]).toMatchObject({ level: "debug", result: "acquired" });
  expect(log.of("refresh_suppressed")).toMatchObject([
    { level: "debug", credential: blue, site: oauthSite, reason: "paused" },
  ]);
  // Every fact there is has its line.
  expect(log.of()).toHaveLength(recorder.events.length);
});

const levels = ["trace", "debug", "info", "warn", "error", "fatal"];

it.each(levels)("writes with level %s only what is at least that severe", (level) => {
  const facts: Event[] = [
    { kind: "token_cache_read", tier: "memory", result: "hit" },
    { kind: "refresh_lock_tried", result: "held" },
    { kind: "stopped", drained: true },
    { kind: "configuration_warned", code: "secret_short", path: "a.b", message: "short" },
    { kind: "defect", where: "send", error: "TypeError at x" },
  ];
  const written = logOf(facts, level).of();
  expect(written.map((line) => line.level)).toEqual(levels.slice(levels.indexOf(level), -1));
});

it("logs a start, a warning, a drain and a defect", () => {
  const facts: Event[] = [
    { kind: "configuration_warned", code: "secret_short", path: "environments.a", message: "a secret is short" },
    { kind: "started", version: "1.2.3", configHash: "abc", routes: ["a", "b"], admin: ":1", status: ":2" },
    { kind: "draining", signal: "SIGTERM", inFlight: 3 },
    { kind: "stopped", drained: false },
    { kind: "defect", where: "send", error: "TypeError at x" },
  ];
  const log = logOf(facts, "info");
  const started = { version: "1.2.3", configHash: "abc", routes: ["a", "b"], adminBind: ":1", statusBind: ":2" };
  expect(log.of()).toMatchObject([
    { level: "warn", code: "secret_short", path: "environments.a", message: "a secret is short" },
    { level: "info", event: "started", ...started, message: "listening" },
    { level: "info", event: "draining", signal: "SIGTERM", inFlight: 3, message: "draining" },
    { level: "info", event: "stopped", drained: false, message: "stopped" },
    { level: "error", event: "defect", where: "send", error: "TypeError at x", message: "a defect in Countersign" },
  ]);
});

it("keeps to one line whatever headers say, and repeats none that it was not asked to", async () => {
  const { url, recorder, simulator } = await stageProxy();
  const nasty = `nasty"\\},{"level":"fatal\u00e9\t${"x".repeat(4_000)}`;
  const theirs = `theirs"\\},{\u00ff${"y".repeat(4_000)}`;
  for (const headers of [
    { "Countersign-Reference": nasty },
    { "Countersign-Site": nasty },
    { "Countersign-Auth": nasty },
    { "User-Agent": nasty, "X-Request-Id": nasty, traceparent: nasty, Authorization: nasty, Cookie: nasty },
    { Host: nasty },
    { "Content-Type": nasty },
    { Expect: nasty },
  ]) {
    await call(url, order, { headers });
  }
  simulator.faults.add({ host: "api", kind: "answer", status: 401, headers: { "x-request-id": theirs }, times: 2 });
  await call(url, order, { headers: { "Countersign-Site": hmacSite } });
  await recorder.nth("request_finished", 8);
  const log = logOf(recorder.events, "trace");
  expect(log.of("request_finished")).toHaveLength(8);
  expect(log.text).not.toContain("nasty");
  const bounded = `${theirs.slice(0, 256)}…`;
  for (const line of [log.of("upstream_unauthorized")[0], log.of("request_finished")[7]]) {
    expect(line.upstreamHeaders).toEqual({ "x-request-id": bounded });
  }
});

it("keeps to one line with text that no header can carry", () => {
  const hostile = 'line\nbreak\r\n\u2028\u0000\u001b[31m"quote\\ \ud800 \ud83d\ude00';
  const log = logOf([{ kind: "configuration_warned", code: "secret_short", path: hostile, message: hostile }], "info");
  expect(log.of()).toHaveLength(1);
  expect(log.text.match(/\n/g)).toHaveLength(1);
  expect(log.of()[0].message).toContain("line\nbreak");
});

it.each(["info", "warn", "error", "fatal"])("says where each listener leads at level %s too", (level) => {
  const routes = ["127.0.0.1:7411 leads to sandbox: https://api.example (create_order)"];
  const places = { admin: ":7412", status: "127.0.0.1:7413" };
  const events: Event[] = [
    { kind: "started", version: "0.1.0", configHash: "0123456789ab", routes, ...places },
    { kind: "draining", signal: "SIGTERM", inFlight: 0 },
  ];
  const [line, ...more] = logOf(events, level).of();
  expect(line).toMatchObject({ level: "info", event: "started", message: "listening", routes });
  expect(more.map(({ event }) => event)).toEqual(level === "info" ? ["draining"] : []);
});
