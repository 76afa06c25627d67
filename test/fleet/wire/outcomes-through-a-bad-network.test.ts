/**
 * Whatever the network does, the caller gets a whole answer at its deadline, never before, with a
 * true outcome: `unknown` only if a byte was written.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import { startSimulator } from "../../../simulator/src/service/simulator.ts";
import { serverTls, trusting } from "../../../testkit/certificates.ts";
import { type FaultProxy, startFaultProxy } from "../../../testkit/fault-proxy.ts";
import type { WayFaults } from "../../../testkit/fault-proxy-way.ts";
import { orderRaw, type RawAnswer, RawConnection, rawPost, readAnswer } from "../../../testkit/raw-caller.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { oneOfEachMethod } from "../../../testkit/simulated-sites.ts";
import { hmacSite, type Stage, type StageOptions, stage } from "../../../testkit/stage.ts";
import { startVanishingPort } from "./vanishing-port.ts";

/** The promise is 100 ms after the deadline; two shared cores get ten times that. */
const toleranceMs = 1_000;

const unreachable = { status: 502, code: "upstream_unreachable", outcome: "not_sent" } as const;
const late = { status: 504, code: "upstream_timeout" } as const;
const noToken = { status: 503, code: "token_unavailable", outcome: "not_sent" } as const;
const served = { status: 200, outcome: "answered" } as const;
const soon = [0, 1_000] as const;

const signed = { "Countersign-Site": hmacSite };
const within = (deadlineMs: number) => ({ "Countersign-Timeout-Ms": String(deadlineMs) });
const patient = { requestMs: 20_000, connectMs: 15_000, tokenMs: 15_000 };
const overTls = { simulator: { tls: serverTls }, environment: { tls: trusting } };

describe("connections that are refused", () => {
  it("by the service: 502 not_sent, and served as soon as they are accepted again", async () => {
    const staged = await stageBadNetwork();
    staged.service.refuse();
    await expectOrder(staged, signed, unreachable, soon);
    await expectOrder(staged, {}, unreachable, soon);
    expect(staged.service.connections).toBe(0);
    await staged.service.accept();
    await expectOrder(staged, signed, served, soon);
    expect(staged.simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1 });
  });

  it("by the authorization server: 503 not_sent within timeouts.token, while orders that need no token are served", async () => {
    const timeouts = { requestMs: 15_000, connectMs: 1_000, tokenMs: 600 };
    const staged = await stageBadNetwork({ refuseLogin: true, config: { timeouts } });
    const answer = await expectOrder(staged, {}, noToken, [0, 600]);
    expect(answer.value("retry-after")).toMatch(/^[1-9]\d*$/);
    expect(staged.service.connections).toBe(0);
    await expectOrder(staged, signed, served, soon);
  });
});

describe("a black hole where connections are made", () => {
  it("of the service: 502 not_sent after timeouts.connect and one more try", async () => {
    const baseUrl = `http://127.0.0.1:${await startVanishingPort()}`;
    const staged = await stage({ baseUrl, config: { timeouts: { ...patient, connectMs: 500 } } });
    await expectOrder(staged, signed, unreachable, [500, 2 * 500 + 1_000]);
  });

  it("of the service: 504 not_sent at the deadline if the deadline is sooner", async () => {
    const baseUrl = `http://127.0.0.1:${await startVanishingPort()}`;
    const staged = await stage({ baseUrl, config: { timeouts: patient } });
    await expectOrder(staged, { ...signed, ...within(500) }, { ...late, outcome: "not_sent" }, [500, 500]);
  });

  it("of the authorization server: 503 not_sent at timeouts.token", async () => {
    const authUrl = `http://127.0.0.1:${await startVanishingPort()}`;
    const staged = await stage({ authUrl, config: { timeouts: { ...patient, tokenMs: 500 } } });
    await expectOrder(staged, {}, noToken, [500, 500]);
    expect(staged.simulator.counts().apiRequests).toBe(0);
  });

  it("within the TLS handshake: 504 not_sent at the deadline, and the order is not sent even if the handshake ends later", async () => {
    const staged = await stageBadNetwork({ ...overTls, config: { timeouts: patient } });
    staged.service.toTarget.become({ blackHole: true });
    const answer = await expectOrder(
      staged,
      { ...signed, ...within(400) },
      { ...late, outcome: "not_sent" },
      [400, 400],
    );
    expect(JSON.parse(answer.body).detail).toMatch(/Nothing was sent\.$/);
    expect(staged.service.connections).toBe(1);
    staged.service.heal();
    await expectOrder(staged, { ...signed, "X-Request-Id": "next" }, served, soon);
    expect(staged.simulator.seen.apiRequests.map(({ rawHeaders }) => rawHeaders.includes("next"))).toEqual([true]);
  });

  it("within the TLS handshake: 502 not_sent, after which nothing arrives late", async () => {
    const timeouts = { ...patient, connectMs: 500 };
    const staged = await stageBadNetwork({ ...overTls, config: { timeouts } });
    staged.service.toCaller.become({ blackHole: true });
    await expectOrder(staged, signed, unreachable, [500, 2 * 500 + 1_000]);
    expect(staged.service.connections).toBe(2);
    staged.service.heal();
    await staged.service.until(() => staged.service.open === 0);
    expect(staged.simulator.counts()).toMatchObject({ apiRequests: 0, accepted: 0 });
  });
});

describe("no complete answer after the request was written: unknown at the deadline", () => {
  it.each([
    ["the caller's own", { ...signed, ...within(500) }, patient],
    ["that of timeouts.request", {}, { requestMs: 500, connectMs: 400, tokenMs: 400 }],
  ])("%s, the answer is lost: the order exists, and the answer says so", async (_, headers, timeouts) => {
    const staged = await stageBadNetwork({ config: { timeouts } });
    staged.service.toCaller.become({ blackHole: true });
    const given = { ...headers, "Countersign-Reference": "A-1042" };
    const answer = await expectOrder(staged, given, { ...late, outcome: "unknown" }, [500, 500]);
    expect(JSON.parse(answer.body)).toMatchObject({ ...late, outcome: "unknown", reference: "A-1042" });
    expect(answer.body).toContain("The order may exist: look for reference A-1042 before sending it again.");
    expect(await staged.recorder.nth("request_finished", 1)).toMatchObject({ stage: "send", outcome: "unknown" });
    expect(staged.simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1 });
  });

  it("the answer stops after its head", async () => {
    const service = await startRawUpstream({ answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" });
    const staged = await stage({ baseUrl: service.url });
    await expectOrder(staged, { ...signed, ...within(400) }, { ...late, outcome: "unknown" }, [400, 400]);
    expect(service.requests).toHaveLength(1);
  });

  it("the retry after a 401 is not answered", async () => {
    const staged = await stageBadNetwork();
    await expectOrder(staged, {}, served, soon);
    staged.simulator.revokeAllTokens();
    staged.simulator.faults.add({ host: "api", kind: "delay", delayMs: 1 });
    staged.simulator.faults.add({ host: "api", kind: "hang" });
    const answer = await expectOrder(staged, within(2_500), { ...late, outcome: "unknown" }, [2_500, 2_500]);
    expect(answer.value("countersign-attempts")).toBe("2");
    expect(staged.simulator.counts()).toMatchObject({ apiRequests: 3, tokensIssued: 2 });
  });

  it("an answer that drips is 504 at the deadline", async () => {
    const clock = new ShiftedClock();
    const timeouts = { requestMs: 60_000, connectMs: 10_000, tokenMs: 10_000 };
    const { port, simulator, recorder } = await stage({ surroundings: { clock }, timeouts });
    simulator.faults.add({ host: "api", kind: "drip", chunkBytes: 1, intervalMs: 50 });
    const caller = await RawConnection.open(port);
    caller.write(rawPost({ more: [`Countersign-Site: ${hmacSite}`] }));
    // Reported when the answer's head has come.
    await recorder.nth("clock_skew_measured", 1);
    clock.push(60_000);
    expect(readAnswer(await caller.ended())).toMatchObject({ status: 504, isComplete: true });
    expect(simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1 });
    expect(await recorder.nth("request_finished", 1)).toMatchObject({
      ...{ code: "upstream_timeout", outcome: "unknown", stage: "stream_answer", by: "countersign" },
      cause: "incomplete answer",
    });
  });

  it("the request is lost: the order does not exist, until the network delivers it after all, once", async () => {
    const staged = await stageBadNetwork();
    staged.service.toTarget.become({ blackHole: true });
    await expectOrder(staged, { ...signed, ...within(500) }, { ...late, outcome: "unknown" }, [500, 500]);
    expect(staged.simulator.counts().apiRequests).toBe(0);
    staged.service.heal();
    await staged.simulator.seen.whenApiRequests(1);
    await expectOrder(staged, signed, served, soon);
    expect(staged.simulator.counts()).toMatchObject({ apiRequests: 2, accepted: 2 });
  });

  it("a kept connection falls silent: not resent on another one", async () => {
    const staged = await stageBadNetwork();
    await expectOrder(staged, signed, served, soon);
    staged.service.toTarget.become({ blackHole: true });
    await expectOrder(staged, { ...signed, ...within(500) }, { ...late, outcome: "unknown" }, [500, 500]);
    expect(staged.service.connections).toBe(1);
  });
});

describe("one deadline covers the wait for a token, the connection, and the retry", () => {
  const slow = { latencyMs: 1_500 };

  it("slow authorization server, slow service: one alone would be in time, both are 504 unknown at the deadline", async () => {
    const staged = await stageBadNetwork({ config: { timeouts: patient }, loginAnswers: slow });
    staged.service.toCaller.become(slow);
    await expectOrder(staged, within(2_200), { ...late, outcome: "unknown" }, [2_200, 2_200]);
    expect(staged.simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1 });
    await expectOrder(staged, within(4_000), served, [1_500, 3_000]);
  });

  it("an authorization server slower than the deadline: 503 not_sent at the deadline, and no order later on", async () => {
    const staged = await stageBadNetwork({ config: { timeouts: patient }, loginAnswers: slow });
    await expectOrder(staged, within(500), noToken, [500, 500]);
    await expectOrder(staged, within(5_000), served, [0, 1_500]);
    expect(staged.simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1 });
  });

  it("a slow TLS handshake and a slow answer: 504 unknown at the deadline", async () => {
    const staged = await stageBadNetwork({ ...overTls, config: { timeouts: patient } });
    staged.service.toCaller.become(slow);
    await expectOrder(staged, { ...signed, ...within(2_200) }, { ...late, outcome: "unknown" }, [2_200, 2_200]);
    expect(staged.simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1 });
  });

  // A second attempt that takes as long as the first would come too late: the 401, which is certain, passes. With
  // 3,700 ms it passes when only the time that the 401 took is left: 1,500 ms, and the machine's delays.
  it.each([
    [2_200, { status: 401, outcome: "answered" }, 1, undefined, [1_500, 1_500]],
    [3_700, { status: 401, outcome: "answered" }, 1, undefined, [2_100, 2_200]],
    [5_500, served, 2, "2", [4_500, 4_500]],
  ] as const)(
    "slow 401, slow refresh, slow retry: by %i ms it is %o",
    async (deadlineMs, expected, sent, attempts, took) => {
      const staged = await stageBadNetwork({ config: { timeouts: patient } });
      await expectOrder(staged, {}, served, soon);
      staged.simulator.revokeAllTokens();
      staged.service.toCaller.become(slow);
      staged.login.toCaller.become(slow);
      const answer = await expectOrder(staged, within(deadlineMs), expected, took);
      expect(answer.value("countersign-attempts")).toBe(attempts);
      expect(staged.simulator.counts().apiRequests).toBe(1 + sent);
    },
  );
});

it.each([
  ["single bytes", { sliceBytes: 1 }],
  ["a narrow line", { bytesPerSecond: 4_000 }],
  ["a slow and narrow line in small pieces", { bytesPerSecond: 8_000, sliceBytes: 50, latencyMs: 50 }],
])(
  "a network that works, but badly, both ways, to both hosts: the order is created once: %s",
  async (_name, faults) => {
    const staged = await stageBadNetwork({ config: { timeouts: patient }, loginAnswers: faults });
    for (const way of [staged.login.toTarget, staged.service.toTarget, staged.service.toCaller]) way.become(faults);
    for (const headers of [{}, signed]) {
      const answer = await expectOrder(staged, headers, served, [0, 5_000]);
      expect(JSON.parse(answer.body)).toMatchObject({ status: "ok" });
    }
    expect(staged.simulator.counts()).toMatchObject({ apiRequests: 2, accepted: 2 });
    expect(staged.simulator.counts()).toMatchObject({ tokensIssued: 1, refused: 0 });
  },
);

it.each([
  ["truncate", 1],
  ["truncate", 120],
  ["truncate", 200],
  ["reset", 1],
  ["reset", 200],
] as const)("half a token answer is no token %s after %i bytes: 503 not_sent", async (how, bytes) => {
  const timeouts = { ...patient, tokenMs: 500 };
  const staged = await stageBadNetwork({ config: { timeouts }, loginAnswers: { breakAfter: { bytes, how } } });
  await expectOrder(staged, {}, noToken, [0, 500]);
  expect(staged.simulator.counts().tokensIssued).toBeGreaterThanOrEqual(1);
  expect(staged.service.connections).toBe(0);
});

interface BadNetworkOptions extends StageOptions {
  /** Faults that begin before Countersign starts, and so before its first token request. */
  readonly loginAnswers?: Partial<WayFaults>;
  readonly refuseLogin?: boolean;
}

/** Countersign with bad networks in between: to the service, and to the authorization server. */
async function stageBadNetwork(options: BadNetworkOptions = {}) {
  const simulator = await startSimulator({ sites: oneOfEachMethod, ...options.simulator });
  onTestFinished(() => simulator.stop());
  const service = await startFaultProxy(simulator.apiUrl);
  const login = await startFaultProxy(simulator.loginUrl);
  login.toCaller.become(options.loginAnswers ?? {});
  if (options.refuseLogin === true) login.refuse();
  const scheme = options.simulator?.tls === undefined ? "http" : "https";
  const at = ({ url }: FaultProxy) => url.replace("http://127.0.0.1", `${scheme}://localhost`);
  const staged = await stage({ oneSet: true, baseUrl: at(service), authUrl: at(login), ...options });
  return { ...staged, simulator, service, login };
}

interface Expected {
  readonly status: number;
  readonly code?: string;
  readonly outcome: "answered" | "unknown" | "not_sent";
}

/** Sends one order, whose answer must be whole, as expected, and between these times. There is always an answer. */
async function expectOrder(
  { port }: Pick<Stage, "port">,
  headers: Readonly<Record<string, string>>,
  { status, code, outcome }: Expected,
  [earliestMs, latestMs]: readonly [number, number],
): Promise<RawAnswer> {
  const startedMs = performance.now();
  const answer = await orderRaw(port, headers);
  const tookMs = performance.now() - startedMs;
  const said = {
    status: answer.status,
    code: answer.value("countersign-error"),
    outcome: answer.value("countersign-outcome"),
    isComplete: answer.isComplete,
  };
  expect(said, answer.body).toEqual({ status, code, outcome, isComplete: true });
  // Each of up to three timers of Node's may be a millisecond early.
  expect(tookMs).toBeGreaterThanOrEqual(earliestMs - 3);
  expect(tookMs).toBeLessThan(latestMs + toleranceMs);
  return answer;
}
