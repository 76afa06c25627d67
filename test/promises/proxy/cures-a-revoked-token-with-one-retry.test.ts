/** Spec 5.4: after a 401 one new token and one retry, equal except for the timestamp. */
import { expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { childSite, oauthSite, type Stage, type StageOptions, stage } from "../../../testkit/stage.ts";

const body = {
  order_amount: 10,
  order_currency: "EUR",
  site_customer_identifier: "Zoë \u{1f600}",
  order_is_standing: true,
};

it("fetches one new token, sends once more, and answers 200", async () => {
  const { url, simulator, recorder } = await stageRevoked();
  const answer = await call(url);
  expect(answer.status).toBe(200);
  expect(answer.headers).toMatchObject({ "countersign-attempts": "2", "countersign-outcome": "answered" });
  expect(simulator.counts()).toMatchObject({ apiRequests: 3, accepted: 2, unauthorized: 1, tokensIssued: 2 });
  expect(simulator.seen.apiRequests.map(({ token }) => token)).toEqual(["token_1", "token_1", "token_2"]);
  const [first, second] = [await recorder.nth("request_finished", 1), await recorder.nth("request_finished", 2)];
  expect(first.retry).toBeUndefined();
  expect(second).toMatchObject({ site: oauthSite, attempts: 2, retry: "cured", status: 200, outcome: "answered" });
  expect(second.retryReason).toBeUndefined();
});

it("sends the same bytes twice, except for the timestamp", async () => {
  const { url, simulator } = await stageRevoked();
  expect((await call(url, body)).status).toBe(200);
  const [, first = expect.unreachable(), second = expect.unreachable()] = simulator.seen.apiRequests;
  expect(mask(first.body)).toContain('"timestamp":"masked"');
  expect(mask(second.body)).toBe(mask(first.body));
  const withoutToken = (rawHeaders: readonly string[]) => rawHeaders.filter((text) => !text.startsWith("Bearer "));
  expect(withoutToken(second.rawHeaders)).toEqual(withoutToken(first.rawHeaders));
  expect(second.target).toBe(first.target);
});

it("gives the retry a new timestamp", async () => {
  const clock = new ShiftedClock();
  const { url, simulator } = await stageRevoked({
    surroundings: { clock },
    simulator: { nowMs: () => clock.wallMs() },
    timeouts: { requestMs: 60_000, connectMs: 30_000, tokenMs: 30_000 },
  });
  const login = simulator.faults.add({ host: "login", kind: "hang" });
  const calling = call(url);
  // Two refreshes are at least 1 s apart: this time passes before the authorization server is asked.
  await login.whenPlayed(1);
  clock.push(10_000);
  login.release();
  expect((await calling).status).toBe(200);
  const [, first = 0, second = 0] = simulator.seen.apiRequests.map((request) => {
    const { timestamp } = JSON.parse(request.body.toString());
    expect(request.receivedAtMs / 1_000 - Number(timestamp)).toBeLessThan(2);
    return Number(timestamp);
  });
  expect(second - first).toBeGreaterThanOrEqual(10);
});

const asChild = { headers: { "Countersign-Site": childSite } };

/** A site whose every order gets 401, until the fault is removed. */
async function stageForever() {
  const clock = new ShiftedClock();
  const staged = await stage({ surroundings: { clock }, simulator: { nowMs: () => clock.wallMs() } });
  const { simulator, url } = staged;
  const refusal = { kind: "answer", status: 401, body: "no" } as const;
  simulator.faults.add({ host: "api", site: childSite, times: "until_cleared", ...refusal });
  const askAsChild = async () => {
    const answer = await call(url, order, asChild);
    expect(answer).toMatchObject({ status: 401, text: "no" });
    expect(answer.headers["countersign-outcome"]).toBe("answered");
  };
  return { ...staged, clock, askAsChild };
}

it("endless 401s are passed on, and use one token, then one more after pauses of 10 s and of 20 s", async () => {
  const { simulator, clock, askAsChild, recorder } = await stageForever();
  const issued: number[] = [];
  for (const pauseMs of [0, 8_000, 3_000, 18_000, 3_000]) {
    clock.push(pauseMs);
    for (let n = 0; n < 5; n++) await askAsChild();
    issued.push(simulator.counts().tokensIssued);
  }
  expect(issued).toEqual([2, 2, 3, 3, 4]);
  await recorder.nth("request_finished", 25);
  expect(recorder.of("request_finished").filter(({ retry }) => retry === "refused")).toHaveLength(3);
  const suppressed = recorder.of("refresh_suppressed");
  expect(new Set(suppressed.map(({ site }) => site))).toEqual(new Set([childSite]));
  expect(new Set(suppressed.map(({ reason }) => reason))).toEqual(new Set(["paused"]));
});

it("endless 401s at one site do not affect the set's other sites", async () => {
  const { url, simulator, askAsChild } = await stageForever();
  for (let n = 0; n < 10; n++) {
    await askAsChild();
    const answer = await call(url);
    expect(answer.status).toBe(200);
    expect(answer.headers["countersign-attempts"]).toBeUndefined();
  }
  expect(simulator.counts()).toMatchObject({ tokensIssued: 2, accepted: 10 });
});

it("endless 401s at one site do not delay the cure of another site's revoked token", async () => {
  const { url, simulator, askAsChild, recorder } = await stageForever();
  expect((await call(url)).status).toBe(200);
  for (let n = 0; n < 5; n++) await askAsChild();
  const before = simulator.counts().tokensIssued;
  simulator.revokeAllTokens();
  const cured = await call(url);
  expect(cured).toMatchObject({ status: 200, headers: { "countersign-attempts": "2" } });
  expect(simulator.counts().tokensIssued).toBe(before + 1);
  expect(recorder.of("refresh_suppressed").filter(({ site }) => site === oauthSite)).toEqual([]);
});

it("a pause after several 401s in a row ends with its window if the service accepts the site again", async () => {
  const { url, simulator, clock, askAsChild } = await stageForever();
  for (let n = 0; n < 3; n++) await askAsChild();
  simulator.faults.clear();
  expect((await call(url, order, asChild)).status).toBe(200);
  simulator.revokeAllTokens();
  clock.push(10_000);
  expect((await call(url, order, asChild)).status).toBe(200);
  expect(simulator.counts().tokensIssued).toBe(3);
});

it("a site's pause does not end when something in front of the service answers 5xx: a 5xx accepts no token", async () => {
  const { simulator, url, askAsChild } = await stageForever();
  await askAsChild();
  const { tokensIssued } = simulator.counts();
  simulator.faults.clear();
  simulator.faults.add({ host: "api", site: childSite, kind: "answer", status: 503 });
  simulator.faults.add({ host: "api", site: childSite, kind: "answer", status: 401, times: 5, body: "no" });
  expect((await call(url, order, asChild)).status).toBe(503);
  for (let n = 0; n < 5; n++) await askAsChild();
  expect(simulator.counts().tokensIssued).toBe(tokensIssued);
});

/** A stage whose proxy holds a token that the service has just revoked. */
async function stageRevoked(options: StageOptions = {}): Promise<Stage> {
  const staged = await stage(options);
  expect((await call(staged.url)).status).toBe(200);
  staged.simulator.revokeAllTokens();
  return staged;
}

function mask(bytes: Buffer): string {
  return bytes.toString("latin1").replace(/"timestamp":"\d{10}"/, '"timestamp":"masked"');
}
