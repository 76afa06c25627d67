/**
 * One JSON object a line, an access line per request, an event line per token event. An access line says who
 * called, and at which listener, whatever the caller sends, and names the same cause as the answer to the caller (leaks.test.ts has
 * the causes of refused requests).
 */
import type { Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../../simulator/src/service/fault.ts";
import { createLogging } from "../../../src/adapters/log/logger.ts";
import { failures, requestFailureCodes } from "../../../src/model/errors.ts";
import type { Event } from "../../../src/model/events.ts";
import { Secret } from "../../../src/model/secret.ts";
import { call, order } from "../../../testkit/call.ts";
import {
  authority,
  expiredCertificate,
  hostileCertificate,
  hostileKey,
  serverKey,
  trusting,
} from "../../../testkit/certificates.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";
import { accessLines, logOf } from "../../../testkit/log-lines.ts";
import { rawPost, sendRaw } from "../../../testkit/raw-caller.ts";
import { type RawUpstream, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { bothSite, hmacSite, oauthSite, type Stage, type StageOptions, stage } from "../../../testkit/stage.ts";
import {
  callSecurely,
  known,
  listenerTls,
  older,
  payments,
  stageWithCaller,
  stageWithCallers,
  stageWithTokens,
  token,
} from "../proxy/callers.ts";

const finished = {
  kind: "request_finished",
  environment: "sandbox",
  requestId: "1",
  reference: undefined,
  auth: undefined,
  operation: "create_order",
  operationLabel: "create_order",
  status: 400,
  by: "countersign",
  outcome: "not_sent",
  stage: "send",
  attempts: 0,
  durationMs: 1,
  upstreamMs: undefined,
  overheadMs: 1,
  callerLeft: false,
} as const;
const deadUrl = "http://127.0.0.1:1";
const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const blue = `${oauthSite}/blue`;
const signed = { "Countersign-Site": hmacSite };

it("writes an access line that says who asked for what, the result, and where the time went", async () => {
  const { url, recorder, simulator } = await stage();
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

it("names the operation as it was called, even if metrics say other", async () => {
  const { url, recorder } = await stage();
  await call(url, order, { path: "/refund_order" });
  const [line] = await accessLines({ recorder }, 1);
  expect(recorder.of("request_finished")[0]?.operationLabel).toBe("other");
  expect(line).toMatchObject({ operation: "refund_order", status: 403, code: "operation_not_allowed", attempts: 0 });
  expect(line).not.toHaveProperty("site");
  expect(line).not.toHaveProperty("upstreamMs");
});

const grades = [
  ...[200, 202].map((status) => [status, "info"] as const),
  ...[302, 307, 400, 403, 404, 422, 429].map((status) => [status, "warn"] as const),
  ...[500, 502, 503, 504].map((status) => [status, "error"] as const),
];

it.each(grades)("logs the service's %i at level %s: an order that failed is seen", async (status, level) => {
  const { url, recorder, simulator } = await stage();
  simulator.faults.add({ host: "api", kind: "answer", status });
  expect((await call(url)).status).toBe(status);
  const [line] = await accessLines({ recorder }, 1);
  expect(line).toMatchObject({ level, status, by: "service", outcome: status >= 500 ? "unknown" : "answered" });
});

it.each<[FaultAction, string]>([
  [{ kind: "reset", when: "after_reading" }, "see what breaks the connection"],
  [{ kind: "answer", status: 403 }, "it does not allow this site or operation; see in the portal"],
  [
    { kind: "answer", status: 302 },
    "no redirect is followed, so no order exists; correct environments.sandbox.baseUrl",
  ],
  [{ kind: "answer", status: 502 }, "it fails, and the request may have had an effect"],
])(
  "of a service that answers otherwise than it should, the first line says which and what to do: %j",
  async (fault, says) => {
    const { url, recorder, simulator } = await stage();
    simulator.faults.add({ host: "api", ...fault, times: 2 });
    for (let sent = 0; sent < 2; sent += 1) await call(url, order, { headers: signed });
    const [first, second] = await accessLines({ recorder }, 2);
    const server = new URL(simulator.apiUrl).origin;
    expect(first).toMatchObject({ server, message: expect.stringContaining(`; ${says}`) });
    expect(second).toMatchObject({ server, message: expect.not.stringContaining(";") });
    for (const { message } of [first, second])
      expect(message).toMatch(new RegExp(`: \\d{3}.* (from|at) ${server}[, ]`));
  },
);

it("says what to do again before it is out of sight in the last 20 lines, and no more often", () => {
  const failed = { ...finished, status: 404, by: "service", outcome: "answered", server: "http://api.test" } as const;
  const fine: Event = { ...failed, status: 200, server: undefined };
  const said = (events: readonly Event[]) =>
    logOf(events, "info")
      .of("request_finished")
      .map(({ message }) => message.includes("; it does not know the path; "));
  expect(said(Array<Event>(60).fill(failed)).flatMap((isSaid, index) => (isSaid ? [index] : []))).toEqual([
    0, 15, 30, 45,
  ]);
  // Others count too.
  const mixed = said(Array.from({ length: 90 }, (_, index) => (index % 3 === 0 ? failed : fine)));
  for (let end = 20; end <= mixed.length; end += 1) expect(mixed.slice(end - 20, end)).toContain(true);
});

it("names the application in each line of a callback that failed", () => {
  const failed: Event = {
    ...finished,
    kind: "callback_finished",
    listener: "127.0.0.1:1",
    status: 500,
    result: "declined",
    outcome: "answered",
    server: "http://app.test",
  };
  for (const { message } of logOf([failed, failed], "info").of())
    expect(message).toContain("500 declined at http://app.test");
});

it("of a caller's mistake the first line in a minute says what to send instead", async () => {
  const { url, recorder } = await stage();
  for (let sent = 0; sent < 2; sent += 1) await call(url, order, { headers: { "Content-Type": "text/plain" } });
  const [first, second] = await accessLines({ recorder }, 2);
  const what = "POST /create_order: 415 media_type_not_supported (Content-Type), not_sent";
  expect(first.message).toContain(`${what}; send Content-Type: application/json, `);
  expect(second.message).toBe(what);
});

it.each(requestFailureCodes)("%s: the first line in a minute says what to do", (code) => {
  const [line] = logOf(
    [{ ...finished, by: "countersign", server: "http://api.test", cause: "ENOENT", code }],
    "info",
  ).of();
  expect(line.message).toMatch(/; .{10}/);
});

it("of a request that Redis does not let pass, the first line says which Redis, why and what to do", () => {
  const refused: Event = { ...finished, status: 503, outcome: "not_sent", code: "once_unavailable" };
  const away = { kind: "redis_down", node: "cache", address: "redis://cache:6379", awayMs: undefined } as const;
  const back = { kind: "redis_up", node: "cache", awayMs: 1 } as const;
  const said = (...events: Event[]) => {
    const of = [...events, { ...refused, cause: "Redis" }];
    return logOf(of, "info")
      .of("request_finished")[0]
      .message.replace(/^.*?_sent/, "");
  };
  const down: Event = { ...away, failure: "noauth", cause: "WRONGPASS" };
  const says = "; redis://cache:6379: the login is refused (WRONGPASS); correct redis.password and redis.username,";
  expect(said(down)).toContain(says);
  const before: Event = { ...down, failure: "connection", cause: "ECONNREFUSED" };
  expect(said(before, down)).toContain(says);
  // Another cause within the minute has another step.
  const lines = logOf([before, { ...refused, cause: "Redis" }, down, { ...refused, cause: "Redis" }], "info");
  expect(lines.of("request_finished")[1].message).toContain(says);
  expect(said(down, back)).toBe(
    "; it needs tokens.cache: redis; countersign doctor says what is wrong with that Redis",
  );
});

it("tells for each environment that failures are over: for how long, and how many", async () => {
  const clock = new FakeClock();
  const lines: string[] = [];
  const { report } = createLogging("info", { write: (line) => void lines.push(line) }, clock);
  const answered = { ...finished, status: 200, by: "service", outcome: "answered" } as const;
  const failed = { ...answered, status: 503, outcome: "unknown" } as const;
  const wrong = { ...finished, status: 415, code: "media_type_not_supported" } as const;
  const send = async (event: Event, times: number) => {
    for (let sent = 0; sent < times; sent += 1) {
      await clock.advance(1_000);
      report(event);
    }
  };
  const told = () => lines.map((line) => JSON.parse(line)).filter((line) => line.event === "outage_ended");
  await send(answered, 5);
  // Neither a caller's mistake nor a single failure is an outage.
  await send(wrong, 100);
  await send(failed, 1);
  await send(answered, 70);
  expect(told()).toEqual([]);
  await send(failed, 3);
  await send({ ...answered, environment: "production" }, 70);
  await send(answered, 1);
  expect(told()).toEqual([]);
  await send(failed, 1);
  await send(answered, 59);
  expect(told()).toEqual([]);
  await send(answered, 10);
  // Successes of another site say nothing about the one that failed.
  await send({ ...failed, site: "S1" }, 2);
  await send({ ...answered, site: "S2" }, 70);
  expect(told()).toHaveLength(1);
  await send({ ...answered, site: "S1" }, 2);
  expect(told()[1]).toMatchObject({ failed: 2, total: 2 });
  const over = { level: "info", environment: "sandbox", what: "request", failed: 4, total: 5, lastedMs: 74_000 };
  expect(told().slice(0, 1)).toMatchObject([
    { ...over, message: "requests of sandbox succeed again: 4 of 5 failed within 74 s" },
  ]);
});

it("tells of a wrong clock once, and once that it is right again", () => {
  const lines = [0, 3, 31, -31, 90, 2, -45].map((skewSeconds): Event => {
    return { kind: "clock_skew_measured", environment: "sandbox", skewSeconds };
  });
  const told = logOf(lines, "info").of();
  expect(told.map(({ level, skewSeconds }) => [level, skewSeconds])).toEqual([
    ["warn", 31],
    ["info", 2],
    ["warn", -45],
  ]);
  expect(told[2].message).toMatch(/^this machine's clock is 45 s behind the service's of sandbox: .*set it/);
});

it("says in the message why a changed configuration was refused", () => {
  const refused = { kind: "config_refused", hash: "c820d7a6a1fc", trigger: "sighup" } as const;
  const [one, three] = logOf(
    [
      { ...refused, problems: ["a: b"], problemCount: 1 },
      { ...refused, problems: ["a: b", "c"], problemCount: 3 },
    ],
    "info",
  ).of();
  expect(one.message).toMatch(/; the one before stays active: a: b$/);
  expect(three.message).toMatch(/; the one before stays active: a: b, and 2 more$/);
});

it("of a service that cannot be reached it names the address, the reason and what to do", async () => {
  const { url, recorder } = await stage({ baseUrl: deadUrl });
  await call(url, order, { headers: signed });
  const [line] = await accessLines({ recorder }, 1);
  const { origin } = new URL(deadUrl);
  expect(line).toMatchObject({ code: "upstream_unreachable", cause: "ECONNREFUSED", server: origin });
  expect(line.message).toBe(
    `create_order for ${hmacSite}: 502 upstream_unreachable, not_sent; ${origin}: connections are refused (ECONNREFUSED); see that it is up, and that host and port in environments.sandbox.baseUrl are right`,
  );
});

it.each([
  ["https://login.example/sso?order=canary#a", "login.example"],
  ["http://canary:canary@login.example:8080/", "login.example:8080"],
  ["//login.example", "login.example"],
  ["/canary", undefined],
  ["https://canary canary/", undefined],
  [`https://${"canary".repeat(60)}/`, undefined],
  ["javascript:canary", undefined],
])("of a redirect to %s it has the host alone", async (location, host) => {
  const { url, recorder, simulator } = await stage();
  simulator.faults.add({ host: "api", kind: "answer", status: 302, headers: { location } });
  expect((await call(url)).status).toBe(302);
  const [line] = await accessLines({ recorder }, 1);
  expect(line.location).toBe(host);
  expect(line.message).toContain(`302 from ${line.server}, answered${host === undefined ? "" : `, Location ${host}`}`);
  expect(JSON.stringify(line)).not.toContain("canary");
});

it.each([
  ["text/html; charset=canary", "text/html"],
  ["application/json; charset=utf-8", undefined],
  ["application/problem+json", undefined],
  ["<canary>", "malformed"],
  [`text/${"x".repeat(200)}`, `text/${"x".repeat(64)}`],
])("of an answer with the Content-Type %s it has the media type, unless that is JSON", async (type, shown) => {
  const { url, recorder, simulator } = await stage();
  simulator.faults.add({ host: "api", kind: "answer", status: 200, headers: { "content-type": type }, body: "{}" });
  expect((await call(url)).status).toBe(200);
  const [line] = await accessLines({ recorder }, 1);
  expect(line).toMatchObject({ level: shown === undefined ? "info" : "warn", outcome: "answered" });
  expect(line.contentType).toBe(shown);
  const told = `, ${shown}; it sends ${shown}, which is no JSON, so perhaps no order exists; see who answers`;
  const from = shown === undefined ? "" : ` from ${line.server}`;
  expect(line.message).toContain(
    `create_order for ${oauthSite}: 200${from}, answered${shown === undefined ? "" : told}`,
  );
  if (shown === undefined) expect(line).not.toHaveProperty("server");
});

it("warns of a 401 that the caller gets, with both methods: how the retry ended, which server, and what to do", async () => {
  const { url, recorder, simulator } = await stage({ oneSet: true });
  const callerRequestId = "shop-4711";
  const answer401 = (times: number, more = {}) => {
    simulator.faults.add({ host: "api", kind: "answer", status: 401, times });
    return call(url, order, { headers: { "X-Request-Id": callerRequestId, ...more } });
  };
  await answer401(1);
  await answer401(2);
  await answer401(1);
  await answer401(1, signed);
  await recorder.nth("request_finished", 4);
  const log = logOf(recorder.events, "info");
  const { origin } = new URL(simulator.apiUrl);
  const token = "it does not accept the token; compare the set's audience, authUrl and baseUrl with the portal";
  const key = "it does not accept the signature; compare the key and its secret with the portal, and the clock";
  // The first line of a kind in a minute says what to do.
  expect(log.of("request_finished").map(({ level, message }) => [level, message])).toEqual([
    ["info", `create_order for ${oauthSite}: 200, answered, 2 attempts`],
    ["warn", `create_order for ${oauthSite}: 401 from ${origin}, answered, 2 attempts; ${token}`],
    ["warn", `create_order for ${oauthSite}: 401 from ${origin}, answered, no retry (paused)`],
    ["warn", `create_order for ${hmacSite}: 401 from ${origin}, answered; ${key}`],
  ]);
  expect(log.of("request_finished").map(({ server }) => server)).toEqual([undefined, origin, origin, origin]);
  const warnings = log.of("request_finished").filter(({ level }) => level !== "info");
  expect(warnings).toMatchObject([
    { event: "request_finished", callerRequestId, attempts: 2, retry: "refused" },
    { event: "request_finished", callerRequestId, attempts: 1, retry: "not_possible", retryReason: "paused" },
    { event: "request_finished", callerRequestId, auth: "hmac" },
  ]);
  expect(warnings[2]).not.toHaveProperty("retry");
});

it("logs both 401s with everything that the service's support needs", async () => {
  const config = { log: { level: "info", upstreamHeaders: ["x-request-id", "x-trace"] } } as const;
  const { url, recorder, simulator } = await stage({ config });
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
  const server = new URL(simulator.apiUrl).origin;
  const told = { level: "warn", server, requestId, reference: "A-1042", ...ofSite };
  const [first, second, ...more] = log.of("upstream_unauthorized");
  expect(more).toEqual([]);
  expect(first).toMatchObject({ ...told, attempt: 1, upstreamHeaders: { "x-request-id": "theirs-1" } });
  expect(second).toMatchObject({ ...told, attempt: 2, upstreamHeaders: { "x-request-id": "theirs-2" } });
  for (const { upstreamHeaders } of [first, second]) expect(Object.keys(upstreamHeaders)).toEqual(["x-request-id"]);
  expect(second.message).toContain("again");
  expect(log.of("request_finished")).toMatchObject([{ site: oauthSite, retry: "refused" }]);
});

const levels = ["trace", "debug", "info", "warn", "error", "fatal"];

it.each(levels)(
  "writes with level %s only what is at least that severe, and always where each listener leads",
  (level) => {
    const routes = ["127.0.0.1:7411 leads to sandbox: https://api.example (create_order)"];
    const facts: Event[] = [
      { kind: "token_cache_read", tier: "memory", result: "hit" },
      { kind: "refresh_lock_tried", result: "held" },
      { kind: "stopped", drained: true },
      { kind: "configuration_warned", code: "secret_short", path: "a.b", message: "short" },
      { kind: "defect", where: "send", error: "TypeError at x" },
      { kind: "started", version: "0.1.0", configHash: "0123456789ab", routes, admin: ":7412", status: ":7413" },
    ];
    const written = logOf(facts, level).of();
    expect(written.pop()).toMatchObject({ level: "info", event: "started", message: "listening", routes });
    expect(written.map((line) => line.level)).toEqual(levels.slice(levels.indexOf(level), -1));
  },
);

it("writes one line whatever headers say, and repeats no header except those that it must log", async () => {
  const { url, recorder, simulator } = await stage();
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
  await call(url, order, { headers: signed });
  await recorder.nth("request_finished", 8);
  const log = logOf(recorder.events, "trace");
  expect(log.of("request_finished")).toHaveLength(8);
  expect(log.text).not.toContain("nasty");
  const bounded = `${theirs.slice(0, 256)}…`;
  for (const line of [log.of("upstream_unauthorized")[0], log.of("request_finished")[7]]) {
    expect(line.upstreamHeaders).toEqual({ "x-request-id": bounded });
  }
});

it("writes one line even for text that no header can carry", () => {
  const hostile = 'line\nbreak\r\n\u2028\u0000\u001b[31m"quote\\ \ud800 \ud83d\ude00';
  const log = logOf([{ kind: "configuration_warned", code: "secret_short", path: hostile, message: hostile }], "info");
  expect(log.of()).toHaveLength(1);
  expect(log.text.match(/\n/g)).toHaveLength(1);
  expect(log.of()[0].message).toContain("line\nbreak");
});

describe("who called", () => {
  it("is the name of its token, never the token", async () => {
    const staged = await stageWithTokens();
    for (const given of [token, older, "canary-unknown"]) {
      await call(staged.url, order, { headers: { "Proxy-Authorization": `Bearer ${given}` } });
    }
    await call(staged.url);
    const lines = await accessLines(staged, 4);
    expect(lines.map(({ status, caller, cause }) => [status, caller, cause])).toEqual([
      [200, "orders", undefined],
      [200, "orders-before", undefined],
      [407, undefined, "unknown token"],
      [407, undefined, "no Proxy-Authorization"],
    ]);
    expect(JSON.stringify(lines)).not.toContain("canary");
  });

  it("is one bounded, printable text, whatever an unknown certificate contains", async () => {
    const staged = await stageWithCallers({ ...payments, tls: { ...listenerTls, ca: hostileCertificate } });
    const given = { ...known, ca: authority, cert: hostileCertificate, key: hostileKey };
    expect((await callSecurely(staged.port, given)).status).toBe(403);
    const [{ caller, ...line }] = await accessLines(staged, 1);
    expect(line).toMatchObject({ level: "warn", callerAddress: "127.0.0.1", listener: "127.0.0.1:0" });
    expect(caller).toMatch(/^CN=or\\0Aders\?\\1B\[31m, O=a.*fatal.*, OU=x+/);
    expect(caller).toMatch(/^[\x20-\x7e]{256}…$/);
  });

  it("has its address in the line: IPv4 as such, even if the listener accepts IPv6 too", async () => {
    const bind = { kind: "tcp", host: "", port: 0 } as const;
    const listeners = [{ bind, environment: "sandbox", hosts: [], callers: { kind: "anyone" } as const }];
    const staged = await stage({ config: { listeners } });
    expect((await call(staged.url)).status).toBe(200);
    const [line] = await accessLines(staged, 1);
    expect(line).toMatchObject({ callerAddress: "127.0.0.1", listener: ":0" });
    expect(line).not.toHaveProperty("caller");
  });

  it("has no address on a Unix socket", async () => {
    const socketPath = join(emptyFolder(), "app.sock");
    const bind = { kind: "unix", path: socketPath } as const;
    const staged = await stage({ config: { listeners: [{ bind, environment: "sandbox", hosts: [] }] } });
    expect((await call("http://localhost", order, { socketPath })).status).toBe(200);
    const [line] = await accessLines(staged, 1);
    expect(line).toMatchObject({ listener: `unix:${socketPath}`, status: 200 });
    expect(line).not.toHaveProperty("callerAddress");
  });

  it("is in the line also if the head of the request could not be read", async () => {
    const line = await lineAfter(({ port }) => sendRaw(port, "nonsense\r\n\r\n"));
    const failure = { stage: "read_head", status: 400, code: "malformed_request" };
    expect(line).toMatchObject({ callerAddress: "127.0.0.1", listener: "127.0.0.1:0", ...failure });
    expect(line.cause).toMatch(/^HPE_[A-Z_]+$/);
    expect(line.message).toBe(
      `request without a head: 400 malformed_request (${line.cause}), not_sent; ${failures.malformed_request.fix}`,
    );
    for (const name of ["method", "target"]) expect(line).not.toHaveProperty(name);
  });
});

it("names the set or the key, and the bytes of both bodies", async () => {
  const staged = await stage({ withBoth: true });
  const calls = [{}, signed, { "Countersign-Site": "K2000000002" }];
  const toBoth = { "Countersign-Site": bothSite, "Countersign-Auth": "hmac" };
  for (const headers of [...calls, toBoth]) expect((await call(staged.url, order, { headers })).status).toBe(200);
  const lines = await accessLines(staged, 4);
  expect(lines.map(({ credential, key }) => [credential, key])).toEqual([
    ["S1000000001/blue", undefined],
    [undefined, "K2000000001"],
    [undefined, "K2000000002"],
    [undefined, "K2000000005"],
  ]);
  expect(lines.map(({ tokenWaitMs }) => tokenWaitMs === undefined)).toEqual([false, true, true, true]);
  for (const line of lines) expect(line.connectMs).toBeGreaterThan(0);
});

it("measures the wait for a connection apart from the service's time", async () => {
  const line = await lineAfter(({ url, simulator }) => {
    simulator.faults.add({ host: "api", kind: "delay", delayMs: 300 });
    return call(url, order, { headers: signed });
  });
  expect(line.upstreamMs).toBeGreaterThan(290);
  expect(line.connectMs).toBeLessThan(line.upstreamMs - 250);
});

describe("the target", () => {
  it.each<[string, string]>([
    ["/create_order?email=hidden@example.com&amount=73514273", "/create_order…"],
    ["/create_order#hidden", "/create_order…"],
    ["/create_order%3Femail=hidden", "/create_order…"],
    ["/create_order;amount=73514273", "/create_order…"],
    ['/x"},{"level":"fatal"', "/x…"],
    ["/\u001b[31mhidden", "/…"],
    ["/ünïcode-hidden", "/…"],
    ["//user:hidden@evil.example/x", "…"],
    [`/${"a".repeat(10_000)}hidden`, `/${"a".repeat(127)}…`],
    ["http://evil.example/services/hidden-secret?x=hidden", "http://evil.example/…"],
    ["http://user:hidden@evil.example/x", "…"],
    [`http://${"hidden".repeat(1_700)}/x`, "…"],
    ["create_order", "…"],
    ["*", "…"],
  ])("is shown without query, user information or a foreign path: %#", async (target, shown) => {
    const staged = await stage();
    const text = await sendRaw(staged.port, rawPost({ target, host: ["Host: localhost"] }));
    expect(text).toMatch(/^HTTP\/1\.1 4\d\d /);
    const [line] = await accessLines(staged, 1);
    // A head that the parser itself refuses has no target.
    if (line.target === undefined) expect(line.cause).toMatch(/^HPE_/);
    else expect(line.target).toBe(shown);
    expect(JSON.stringify(line)).not.toMatch(/hidden|73514273/);
    expect(line.message.length).toBeLessThan(600);
  });

  it("of a CONNECT is not shown: it is a foreign host", async () => {
    const connect = "CONNECT hidden.example:443 HTTP/1.1\r\nHost: hidden.example\r\n\r\n";
    const line = await lineAfter(({ port }) => sendRaw(port, connect));
    expect(line).toMatchObject({
      method: "CONNECT",
      message: `CONNECT: 405 method_not_allowed, not_sent; ${failures.method_not_allowed.fix}`,
    });
    expect(line).not.toHaveProperty("target");
  });

  it("may be long if any operation may be called, but the line is bounded", async () => {
    const operation = "a".repeat(10_000);
    const send = ({ url }: Stage) => call(url, order, { path: `/${operation}`, headers: signed });
    const line = await lineAfter(send, { environment: { operations: "any" } });
    expect(line.operation).toBe(operation.slice(0, 128));
    expect(JSON.stringify(line).length).toBeLessThan(2_000);
  });
});

describe("the caller's own request id", () => {
  it.each([
    ["a UUID", "6f1c3f5e-1d2c-4e8f-9d0a-0b1c2d3e4f50"],
    ["a load balancer's", "Root=1-67891233-abcdef012345678912345678;Self=1-67"],
    ["128 characters", "a".repeat(128)],
  ])("is logged: %s", async (_, id) => {
    const line = await lineAfter(({ url }) => call(url, order, { headers: { "X-Request-Id": id } }));
    expect(line.callerRequestId).toBe(id);
  });

  it.each<[string, string | string[]]>([
    ["with quotes and braces", 'hidden"},{"level":"fatal"'],
    ["with spaces", "hidden hidden"],
    ["with a tabulator", "hidden\thidden"],
    ["beyond ASCII", "hidden\u00e9"],
    ["an e-mail address", "hidden@example.com"],
    ["of 10 kB", "hidden".repeat(1_700)],
    ["empty", ""],
    ["given twice", ["hidden-1", "hidden-2"]],
  ])("is left out if it is no plain id: %s", async (_, id) => {
    const line = await lineAfter(({ url }) => call(url, order, { headers: { ...signed, "X-Request-Id": id } }));
    expect(line).not.toHaveProperty("callerRequestId");
    // The simulator's answer repeats none of it.
    expect(JSON.stringify(line)).not.toContain("hidden");
  });
});

it.each([
  ["with a quote and a brace", 'hidden"},{"level":"fatal"'],
  ["with what looks like control characters", "hidden%0a%1b"],
  ["with user information", "user:hidden@evil.example"],
  ["with a path", "evil.example/hidden"],
  ["of 10 kB", "hidden".repeat(1_700)],
])("does not repeat a Host that is malformed: %s", async (_, host) => {
  const line = await lineAfter(({ port }) => sendRaw(port, rawPost({ host: [`Host: ${host}`] })));
  expect(line).toMatchObject({ code: "target_not_allowed", status: 403 });
  expect(line).not.toHaveProperty("cause");
  expect(JSON.stringify(line)).not.toContain("hidden");
});

it("shows neither a caller's token in Basic credentials nor their user name", async () => {
  const staged = await stageWithCaller({ name: "billing", tokens: [new Secret("canary-billing-token")] });
  const basic = Buffer.from('canary-user"}:canary-billing-token').toString("base64");
  const answer = await call(staged.url, order, { headers: { "Proxy-Authorization": `Basic ${basic}` } });
  expect(answer.status).toBe(200);
  const [line] = await accessLines(staged, 1);
  expect(line.caller).toBe("billing");
  expect(JSON.stringify(line)).not.toMatch(/canary/);
});

/** Hosts to which no connection can be made, and the cause in the log. */
const hosts: readonly (readonly [string, () => Promise<RawUpstream>, RegExp])[] = [
  [
    "resets each connection",
    () => startRawUpstream({ answer: (_, socket) => void socket.resetAndDestroy() }),
    /^(ECONNRESET|CONNECTION_CLOSED)$/,
  ],
  [
    "has a certificate that has expired",
    () => startRawUpstream({ tls: { key: serverKey, cert: expiredCertificate } }),
    /^CERT_HAS_EXPIRED$/,
  ],
];

/** says-not-sent-when-the-service-cannot-be-reached.test.ts has the other causes, of a service. */
it.each(hosts)(
  "if the authorization server %s, the token request's line says so, and the access lines too",
  async (_, start, cause) => {
    const staged = await stage({ authUrl: (await start()).url, environment: { tls: trusting }, oneSet: true });
    const answer = await call(staged.url, order, { headers: { "Countersign-Timeout-Ms": "3000" } });
    expect(answer.json).toMatchObject({ code: "token_unavailable", outcome: "not_sent" });
    const [access] = await accessLines(staged, 1);
    const [request] = logOf(staged.recorder.events, "info").of("token_requested");
    expect(request).toMatchObject({ level: "warn", result: "failed", credential: blue });
    expect(request).not.toHaveProperty("status");
    expect(request.cause).toMatch(cause);
    const isKnown = !/^(ECONNRESET|CONNECTION_CLOSED)$/.test(request.cause);
    const why = `${request.server}${isKnown ? ": .*" : " gives no complete answer"} \\(${request.cause}\\); .*`;
    expect(request.message).toMatch(
      new RegExp(`^token for ${blue}: ${why}; next try in ${Math.round(request.pauseMs)} ms$`),
    );
    expect(request.server).toMatch(/^https?:\/\/(127\.0\.0\.1|localhost):\d+$/);
    expect(access).toMatchObject({ code: "token_unavailable", cause: request.cause });
    expect(access.message).toBe(
      `create_order for ${oauthSite}: 503 token_unavailable (authorization server: ${request.cause}), not_sent; ${failures.token_unavailable.fix}`,
    );
    expect(access.tokenWaitMs).toBeGreaterThan(0);
    expect(access).not.toHaveProperty("credential");
  },
);

/** The line of a token request to which the authorization server answers so. */
async function tokenLine(status: number, body: unknown) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const login = await startRawUpstream({ answer: rawAnswer(status, Buffer.from(text).toString("latin1")) });
  const { url, recorder } = await stage({ authUrl: login.url, oneSet: true });
  await call(url, order, { headers: { "Countersign-Timeout-Ms": "1000" } });
  await recorder.nth("request_finished", 1);
  const log = logOf(recorder.events, "trace");
  return { line: log.of("token_requested")[0], access: log.of("request_finished")[0], text: log.text };
}

describe("the authorization server's own error code", () => {
  it.each([
    [401, "invalid_client", "refused", "credentials_refused"],
    [400, "unauthorized_client", "refused", "credentials_refused"],
    [403, "access_denied", "refused", "credentials_refused"],
    [429, "too_many_requests", "throttled", "token_unavailable"],
    [503, "temporarily_unavailable", "failed", "token_unavailable"],
  ])("of a %i is the cause: %s", async (status, error, result, code) => {
    const body = { error, error_description: "canary-description", error_uri: "https://canary.example" };
    const { line, access, text } = await tokenLine(status, body);
    expect(line).toMatchObject({ result, status, cause: error });
    expect(line.message).toContain(`(${status}, ${error})`);
    expect(access).toMatchObject({ code, cause: error });
    expect(text).not.toContain("canary");
  });

  it.each([
    ["in no JSON", "<html>canary</html>"],
    ["that is no text", { error: { canary: 1 } }],
    ["that is empty", { error: "" }],
    ["with a character that the RFC does not allow", { error: 'canary"}' }],
    ["with a backslash", { error: "canary\\" }],
    ["with a line's end", { error: 'canary\n{"level":"fatal"}' }],
    ["with characters of another script", { error: "canary\u202e" }],
    ["of 10 kB", { error: "canary".repeat(1_700) }],
    ["that is the secret", { error: "canary-client-secret-blue" }],
    ["that has the secret within", { error: "bad canary-client-secret-blue" }],
    ["that has most of the secret", { error: "bad canary-client-sec" }],
    ["that has the end of the secret", { error: "client-secret-blue" }],
    ["in a list", [{ error: "canary" }]],
  ])("is left out %s", async (_, body) => {
    const { line, access, text } = await tokenLine(401, body);
    expect(line).toMatchObject({ result: "refused", status: 401 });
    expect(line).not.toHaveProperty("cause");
    expect(line.message).toMatch(
      /^token for \S+: http:\S+ refuses the set \(401\); compare client id \(blue-id\), secret .*; next try in 10 s$/,
    );
    expect(access).toMatchObject({ code: "credentials_refused", cause: "HTTP 401" });
    expect(text).not.toMatch(/canary|client-sec|secret-blue/);
  });
});

/** believes-only-sound-token-answers.test.ts has the other causes. */
it("says what is wrong with a token answer", async () => {
  const { line, access } = await tokenLine(200, { token_type: "Bearer" });
  const cause = "access_token";
  expect(line).toMatchObject({ level: "warn", result: "malformed", status: 200, cause });
  expect(access).toMatchObject({ code: "token_unavailable", cause });
});

it("names the credential whose token lapsed", async () => {
  const { clock, recorder } = await stage({ simulator: { tokenLifetimeSeconds: 3_600 } });
  await recorder.nth("token_adopted", 1);
  clock.push(2 * 3_600_000);
  await recorder.nth("token_lapsed", 1);
  expect(logOf(recorder.events, "info").of("token_lapsed")[0].message).toBe(
    `token for ${blue}: lapsed, since it has expired`,
  );
});

describe("after a timeout the access line says what had not come", () => {
  const partial = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{";
  it.each([
    ["no connection", "https:", {}, "not_sent"],
    ["no answer", "http:", {}, "unknown"],
    ["incomplete answer", "http:", { answer: (_: unknown, socket: Socket) => void socket.write(partial) }, "unknown"],
  ])("%s", async (cause, scheme, behaviour, outcome) => {
    const upstream = await startRawUpstream(behaviour);
    const staged = await stage({ baseUrl: upstream.url.replace("http:", scheme) });
    // In the middle of the second try to connect: each may take a second.
    const headers = { ...signed, "Countersign-Timeout-Ms": "1500" };
    await call(staged.url, order, { headers }).catch(() => undefined);
    const [line] = await accessLines(staged, 1);
    expect(line).toMatchObject({ code: "upstream_timeout", outcome, cause });
    expect(line.message).toContain(`upstream_timeout at ${line.server} (${cause}), ${outcome}`);
  });
});

/** The access line of the only request of a stage. */
async function lineAfter(send: (staged: Stage) => Promise<unknown>, options: StageOptions = {}) {
  const staged = await stage(options);
  await send(staged);
  return (await accessLines(staged, 1))[0];
}
