/**
 * Spec 5.4: the caller's answer when the retry after a 401 is refused, impossible or fails, and when the 401 stalls
 * or breaks. HMAC and 403 are never retried.
 */
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { inParallel } from "../../../testkit/in-parallel.ts";
import { orderRaw, type RawAnswer } from "../../../testkit/raw-caller.ts";
import { rawAnswer } from "../../../testkit/raw-upstream.ts";
import { drawSeed, pickBy, seededRandom } from "../../../testkit/seeded-random.ts";
import { hmacSite, oauthSite, type StageOptions, stage } from "../../../testkit/stage.ts";

const firstBody = '{"error": "first",\n  "odd":1.0}';
const firstHeaders = "X-Request-Id: api-1\r\nWWW-Authenticate: Bearer error=one\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n";
const first401 = rawAnswer(401, firstBody, firstHeaders);
const secondBody = '{"error": "second"}';
const second401 = rawAnswer(401, secondBody, "X-Request-Id: api-2\r\nWWW-Authenticate: Bearer error=two\r\n");

describe("a second 401", () => {
  it("is passed on byte for byte (log.test.ts has the log lines of both)", async () => {
    const { port, upstream, recorder, simulator } = await stageAnswers([first401, second401]);
    const answer = await orderRaw(port);
    expect(answer).toMatchObject({ status: 401, body: secondBody, isComplete: true });
    expect(answer.lines).toContain("WWW-Authenticate: Bearer error=two");
    expect(answer.value("countersign-attempts")).toBe("2");
    expect(upstream.requests).toHaveLength(2);
    expect(simulator.counts().tokensIssued).toBe(2);
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ retry: "refused" });
  });

  it("is passed on whole if it is longer than the part that is kept in memory", async () => {
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
    // Long enough for all tries of a refresh.
    const timeouts = { requestMs: 20_000, tokenMs: 10_000 };
    const { port, upstream, simulator, recorder } = await stageAnswers([first401], { oneSet: true, timeouts });
    simulator.faults.add({ host: "login", times: "until_cleared", ...fault });
    expectFirst(await orderRaw(port));
    expect(upstream.requests).toHaveLength(1);
    const forced = recorder.of("token_requested").filter(({ reason }) => reason === "unauthorized");
    expect(forced).toHaveLength(tokenRequests);
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ retry: "not_possible", retryReason: "no_token" });
  });

  it("when a retry could no longer be answered in time, as the authorization server hangs", async () => {
    const { port, upstream, simulator, recorder } = await stageAnswers([first401]);
    simulator.faults.add({ host: "login", kind: "hang" });
    const startedMs = performance.now();
    expectFirst(await orderRaw(port, { "Countersign-Timeout-Ms": "1500" }));
    const tookMs = performance.now() - startedMs;
    const { upstreamMs = 0, retryReason } = await recorder.nth("request_finished", 1);
    expect(retryReason).toBe("too_late");
    expect(tookMs).toBeGreaterThanOrEqual(1_498 - Math.max(300, upstreamMs));
    expect(tookMs).toBeLessThan(3_000);
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
    const { port, upstream, finished } = await stage("service", {
      answer: (_request, socket) => {
        upstream.refuse();
        socket.end(first401);
      },
    });
    expectFirst(await orderRaw(port));
    expect(upstream.requests).toHaveLength(1);
    expect(await finished()).toMatchObject({ status: 401, outcome: "answered", attempts: 1, retry: "failed" });
  });

  it("whole, if it is longer than the part that is kept in memory", async () => {
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
    const { url, simulator, recorder } = await stage();
    await recorder.nth("token_adopted", 1);
    simulator.faults.add({ host: "api", kind: "answer", status: 403, body: "no" });
    const answer = await call(url, order, { headers: { "Countersign-Site": site } });
    expect(answer).toMatchObject({ status: 403, text: "no" });
    expect(simulator.counts()).toMatchObject({ apiRequests: 1, tokensIssued: 1 });
    expect(recorder.count("upstream_unauthorized")).toBe(0);
  });
});

const body = '{"error":"unauthorized"}';
const framings = {
  length: `HTTP/1.1 401 Unauthorized\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  chunks: `HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\n\r\n18\r\n${body}\r\n0\r\n\r\n`,
  close: `HTTP/1.1 401 Unauthorized\r\nX-A: b\r\n\r\n${body}`,
} as const;
const headBytes = (bytes: string) => bytes.indexOf("\r\n\r\n") + 4;

const stalls = () => {};
const resets = (socket: Socket) => socket.resetAndDestroy();
const ends = (socket: Socket) => socket.end();

/** The 401 with half of the body, or none of it, and how it then breaks. */
const broken: readonly (readonly [string, string, (socket: Socket) => void])[] = [
  ["that stalls after its head", framings.length.slice(0, headBytes(framings.length)), stalls],
  ["that stalls in its body", framings.length.slice(0, -5), stalls],
  ["in chunks that stall", framings.chunks.slice(0, -8), stalls],
  ["without a length that stalls", framings.close, stalls],
  ["that is reset after its head", framings.length.slice(0, headBytes(framings.length)), resets],
  ["that is reset in its body", framings.length.slice(0, -5), resets],
  ["in chunks that are reset", framings.chunks.slice(0, -8), resets],
  ["without a length that is reset", framings.close, resets],
  ["that ends too early", framings.length.slice(0, -5), ends],
];

/** A service whose first answer breaks; the next order is served. */
const stageBroken = (bytes: string, breakOff: (socket: Socket) => void) =>
  stage("token", {
    answer: ({ number }, socket) => {
      if (number === 1) socket.setNoDelay(true).write(bytes, "latin1", () => breakOff(socket));
      else socket.write(rawAnswer(200, "{}"));
    },
  });

describe.each(broken)("a 401 %s", (_name, bytes, breakOff) => {
  it("is followed by the retry all the same", async () => {
    const { port, upstream, recorder, simulator } = await stageBroken(bytes, breakOff);
    const answer = await orderRaw(port);
    expect(answer).toMatchObject({ status: 200, body: "{}", isComplete: true });
    expect(answer.value("countersign-attempts")).toBe("2");
    expect(upstream.requests).toHaveLength(2);
    expect(simulator.counts().tokensIssued).toBe(2);
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ retry: "cured" });
  });

  it("becomes a whole answer of Countersign's if no token is available", async () => {
    const { port, upstream, recorder, simulator } = await stageBroken(bytes, breakOff);
    simulator.faults.add({ host: "login", times: "until_cleared", kind: "answer", status: 401 });
    const startedMs = performance.now();
    const answer = await orderRaw(port, { "Countersign-Timeout-Ms": "600" });
    expect(upstream.requests).toHaveLength(1);
    const [status, code] = breakOff === stalls ? [504, "upstream_timeout"] : [502, "upstream_reset"];
    expect(answer).toMatchObject({ status, isComplete: true });
    expect(JSON.parse(answer.body)).toMatchObject({ code, outcome: "unknown" });
    expect(JSON.parse(answer.body).detail).toMatch(/^The service answered 401\. /);
    if (breakOff === stalls) expect(performance.now() - startedMs).toBeGreaterThanOrEqual(598);
    expect(performance.now() - startedMs).toBeLessThan(6_000);
    expect(recorder.of("request_finished")).toMatchObject([{ status, code, outcome: "unknown", by: "countersign" }]);
  });
});

it.each([
  ["stalls", 504, "upstream_timeout", stalls, "The rest of that answer did not come in time."],
  ["is reset", 502, "upstream_reset", resets, ""],
] as const)(
  "a 401 that %s becomes %i %s if the retry finds no connection",
  async (_name, status, code, breakOff, why) => {
    const { port, upstream, finished } = await stage("service", {
      answer: (_request, socket) => {
        upstream.refuse();
        socket.write(framings.length.slice(0, -5), () => breakOff(socket));
      },
    });
    const answer = await orderRaw(port);
    expect(answer).toMatchObject({ status, isComplete: true });
    const detail = expect.stringContaining(`The service answered 401. ${why}`);
    expect(JSON.parse(answer.body)).toMatchObject({ code, outcome: "unknown", detail });
    expect(upstream.requests).toHaveLength(1);
    expect(await finished()).toMatchObject({ retry: "failed" });
  },
);

it("the caller gets a whole answer at each of 100 random points where a 401 may break", async () => {
  const random = seededRandom(drawSeed("broken 401s"));
  const pick = pickBy(random);
  const plans = Array.from({ length: 100 }, () => {
    const bytes = pick(Object.values(framings));
    return { bytes: bytes.slice(0, Math.floor(random() * (bytes.length - 1))), breakOff: resets };
  });
  const staged = await stage("token", {
    answer: ({ number }, socket) => {
      const { bytes, breakOff } = plans[number - 1] ?? { bytes: "", breakOff: ends };
      socket.setNoDelay(true).write(bytes, "latin1", () => breakOff(socket));
    },
  });
  await staged.simulator.stopLogin();
  const answers = await inParallel(5, plans, () => orderRaw(staged.port));
  expect(answers.filter(({ status, isComplete }) => status === 502 && isComplete)).toHaveLength(100);
  expect(staged.recorder.of("request_finished").filter(({ outcome }) => outcome === "unknown")).toHaveLength(100);
});

/** A service that gives these answers in turn and then resets; the proxy has had its token for a while. */
function stageAnswers(answers: readonly string[], options: StageOptions = {}) {
  return stage(
    "token",
    {
      answer: ({ number }, socket) => {
        const bytes = answers[number - 1];
        if (bytes === undefined) socket.resetAndDestroy();
        else socket.write(bytes, "latin1");
      },
    },
    { oneSet: false, ...options },
  );
}

function expectFirst(answer: RawAnswer) {
  expect(answer).toMatchObject({ status: 401, body: firstBody, isComplete: true });
  for (const line of firstHeaders.trim().split("\r\n")) expect(answer.lines).toContain(line);
  expect(answer.value("countersign-outcome")).toBe("answered");
  expect(answer.value("countersign-error")).toBeUndefined();
  expect(answer.value("countersign-attempts")).toBeUndefined();
}
