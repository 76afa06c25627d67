/** Spec 5.4 and rows 37, 38, 49, 20: after a 401 one new token and one retry, equal but for the timestamp. */
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { oauthSite, type Stage, stageProxy } from "../../../testkit/stage.ts";

const patient = { requestMs: 60_000, connectMs: 30_000, tokenMs: 30_000 };

/** A stage whose proxy holds a token that the service has just revoked. */
async function stageRevoked(options: Parameters<typeof stageProxy>[0] = {}): Promise<Stage> {
  const stage = await stageProxy(options);
  expect((await call(stage.url)).status).toBe(200);
  stage.simulator.revokeAllTokens();
  return stage;
}

const body = {
  order_amount: 10,
  order_currency: "EUR",
  site_customer_identifier: "Zoë \u{1f600}",
  order_is_standing: true,
};

function mask(bytes: Buffer): string {
  return bytes.toString("latin1").replace(/"timestamp":"\d{10}"/, '"timestamp":"masked"');
}

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

it("sends the same bytes twice, but for the timestamp", async () => {
  const { url, simulator } = await stageRevoked();
  expect((await call(url, body)).status).toBe(200);
  const [, first = expect.unreachable(), second = expect.unreachable()] = simulator.seen.apiRequests;
  expect(mask(first.body)).toContain('"timestamp":"masked"');
  expect(mask(second.body)).toBe(mask(first.body));
  const withoutToken = (rawHeaders: readonly string[]) => rawHeaders.filter((text) => !text.startsWith("Bearer "));
  expect(withoutToken(second.rawHeaders)).toEqual(withoutToken(first.rawHeaders));
  expect(second.target).toBe(first.target);
});

it("stamps the retry anew", async () => {
  const clock = new ShiftedClock();
  const { url, simulator } = await stageRevoked({
    surroundings: { clock },
    simulator: { nowMs: () => clock.wallMs() },
    timeouts: patient,
  });
  const login = simulator.faults.add({ host: "login", kind: "hang" });
  const calling = call(url);
  // The spacing between two refreshes (1 s) passes before the authorization server is asked.
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

it("cures 200 concurrent 401s with one token, each request sent once more", async () => {
  // How fast 200 callers and this machine are is not asked here.
  const { url, simulator } = await stageRevoked({ timeouts: patient });
  const hanging = simulator.faults.add({ host: "api", kind: "hang", times: 200 });
  const calling = Promise.all(
    Array.from({ length: 200 }, (_, n) => call(url, { site_customer_identifier: `customer_${n}` })),
  );
  await hanging.whenPlayed(200);
  hanging.release();
  const answers = await calling;
  expect(answers.filter(({ status, headers }) => status !== 200 || headers["countersign-attempts"] !== "2")).toEqual(
    [],
  );
  expect(simulator.counts()).toMatchObject({ apiRequests: 401, accepted: 201, unauthorized: 200, tokensIssued: 2 });
  const customers = simulator.seen.apiRequests
    .slice(1)
    .map((request) => JSON.parse(request.body.toString()).site_customer_identifier);
  for (let n = 0; n < 200; n++) expect(customers.filter((customer) => customer === `customer_${n}`)).toHaveLength(2);
});

it("keeps the new token when a late 401 comes for the old one", async () => {
  const { url, simulator } = await stageRevoked();
  const hanging = simulator.faults.add({ host: "api", kind: "hang" });
  const late = call(url);
  await hanging.whenPlayed(1);
  expect((await call(url)).headers["countersign-attempts"]).toBe("2");
  hanging.release();
  expect(await late).toMatchObject({ status: 200, headers: { "countersign-attempts": "2" } });
  const last = await call(url);
  expect(last.status).toBe(200);
  expect(last.headers["countersign-attempts"]).toBeUndefined();
  expect(simulator.seen.apiRequests.at(-1)?.token).toBe("token_2");
  expect(simulator.counts()).toMatchObject({ apiRequests: 6, unauthorized: 2, accepted: 4, tokensIssued: 2 });
});

it("is not held up by a 401 with a body longer than what is held in memory", async () => {
  const { url, simulator } = await stageProxy();
  simulator.faults.add({ host: "api", kind: "answer", status: 401, body: "x".repeat(1_000_000) });
  const answer = await call(url);
  expect(answer.status).toBe(200);
  expect(answer.headers["countersign-attempts"]).toBe("2");
  expect(answer.json.status).toBe("ok");
});
