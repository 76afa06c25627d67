/**
 * `bridge: hmac`: a site with both methods signs its orders while no token is available, and uses the next token
 * again. It never signs after a 401, against the caller's own choice, or a value that must not be signed.
 */
import { describe, expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { dueMs, expiredMs } from "../../../testkit/stage/service.ts";
import { bothSite, type StageOptions, stage } from "../../../testkit/stage.ts";

const minuteMs = 60_000;
const marginMs = 10_000;
const ofSite = { environment: "sandbox", site: bothSite };

describe("while the authorization server is away", () => {
  it("for an hour after expiry, each order is signed and accepted, and then one token ends the bridge", async () => {
    const staged = await stageOutage();
    const { url, simulator, clock, bridged, lastSent, recorder } = staged;
    const { tokensIssued } = simulator.counts();
    for (let minute = 0; minute < 60; minute++) {
      clock.push(minuteMs);
      expect((await call(url)).status).toBe(200);
      expect(lastSent()?.token).toBeUndefined();
    }
    expect(bridged()).toEqual([undefined, ...Array(60).fill("token_unavailable")]);
    expect(recorder.of("request_finished").slice(1)).toEqual(
      Array(60).fill(expect.objectContaining({ auth: "hmac", key: "K2000000005", outcome: "answered", attempts: 1 })),
    );
    await simulator.startLogin();
    await orderUntilToken(staged);
    const { apiRequests, accepted, tokensIssued: issued } = simulator.counts();
    expect(accepted).toBe(apiRequests);
    expect(issued).toBe(tokensIssued + 1);
  });

  it("metrics and the page say since when, and that no order is refused", async () => {
    const staged = await stageOutage();
    const { url, adminUrl, statusUrl, simulator } = staged;
    const active = async () => (await scrape(adminUrl)).value("countersign_bridge_active", ofSite);
    const page = async () => (await call(statusUrl, "", { method: "GET", path: "/" })).text;
    await call(url);
    expect(await active()).toBe(1);
    const metrics = await scrape(adminUrl);
    expect(metrics.value("countersign_bridged_total", { ...ofSite, reason: "token_unavailable" })).toBe(1);
    expect(metrics.value("countersign_bridged_total", { ...ofSite, reason: "credentials_refused" })).toBe(0);
    expect(metrics.sum("countersign_failures_total")).toBe(0);
    expect(await page()).toMatch(/No token<\/strong><\/a> for S1000000005 of.*\n.*Their orders are signed\./);
    await simulator.startLogin();
    await orderUntilToken(staged);
    expect(await active()).toBe(0);
    expect(await page()).not.toContain("Their orders are signed");
  });

  it("the first order after an unused token has lapsed requests a token again", async () => {
    const staged = await stageBridge();
    const { url, adminUrl, simulator, clock, recorder } = staged;
    clock.push(720_000);
    await call(url);
    clock.push(dueMs - 720_000 + marginMs);
    await recorder.nth("token_adopted", 3);
    await simulator.stopLogin();
    clock.push(dueMs + marginMs);
    // The last try of the refresh.
    await recorder.nth("token_requested", 5, ({ result }) => result === "failed");
    // From here on the token has not been used for a lifetime, so no timer renews it.
    clock.push(expiredMs - dueMs - 2 * marginMs);
    // Lets the timer run.
    await scrape(adminUrl);
    clock.push(3 * marginMs);
    expect((await call(url)).status).toBe(200);
    await simulator.startLogin();
    await orderUntilToken(staged);
  });

  it("one order waits for a hanging token request, up to half of its time; later orders do not wait", async () => {
    const staged = await stageBridge();
    const { url, simulator, expire, recorder } = staged;
    simulator.faults.add({ host: "login", kind: "hang", times: "until_cleared" });
    expire();
    const short = { headers: { "Countersign-Timeout-Ms": "1200" } };
    expect((await call(url, order, short)).status).toBe(200);
    await recorder.nth("token_requested", 1, ({ result }) => result === "timed_out");
    for (let n = 0; n < 3; n++) expect((await call(url, order, short)).status).toBe(200);
    const [, first, ...others] = recorder.of("request_finished");
    expect(first?.tokenWaitMs).toBeGreaterThan(500);
    expect(others.map(({ tokenWaitMs }) => tokenWaitMs)).toEqual([undefined, undefined, undefined]);
  });
});

describe("signs for", () => {
  it.each([
    ["refused credentials", "credentials_refused", 401, {}],
    ["a pause that the authorization server demands", "token_unavailable", 429, { "Retry-After": "600" }],
    ["a failing authorization server", "token_unavailable", 500, {}],
  ])("%s, by that reason", async (_name, reason, status, headers) => {
    const { url, simulator, expire, bridged, lastSent } = await stageBridge();
    simulator.faults.add({ host: "login", kind: "answer", status, headers, times: "until_cleared" });
    expire();
    for (let n = 0; n < 2; n++) expect((await call(url)).status).toBe(200);
    expect(bridged()).toEqual([undefined, reason, reason]);
    expect(lastSent()?.token).toBeUndefined();
  });

  it.each([
    ["the key that the caller names", {}, "K2000000005", "K2000000005"],
    ["the site's key, if the key identifies the site", { identifyBy: "key" }, bothSite, "K2000000005"],
    ["the site", {}, bothSite, bothSite],
  ] as const)("%s", async (_name, site, asked, sent) => {
    const { url, lastSent } = await stageOutage({ site });
    expect((await call(url, { ...order, site_identifier: asked })).status).toBe(200);
    expect(JSON.parse(String(lastSent()?.body))).toMatchObject({ site_identifier: sent });
  });
});

describe("refuses as without a bridge", () => {
  const unavailable = { status: 503, code: "token_unavailable" } as const;

  it("an order whose caller asks for OAuth", async () => {
    const { url, simulator } = await stageOutage();
    expectFailure(await call(url, order, { headers: { "Countersign-Auth": "oauth" } }), unavailable);
    expect(simulator.counts().apiRequests).toBe(1);
  });

  it("an order with a value that must not be signed (spec 5.2 rule 3): it can be sent later with a token", async () => {
    const staged = await stageOutage();
    const { url, simulator } = staged;
    for (let n = 0; n < 2; n++) {
      const refused = await call(url, { ...order, city: "New York" });
      expectFailure(refused, unavailable);
      const why = 'It cannot be signed instead. The value of parameter "city" has a character at position 4';
      expect(refused.json.detail).toContain(why);
    }
    expect(simulator.counts().apiRequests).toBe(1);
    await simulator.startLogin();
    await orderUntilToken(staged);
    expect((await call(url, { ...order, city: "New York" })).status).toBe(200);
  });
});

it("never signs after a 401, even if the authorization server is away", async () => {
  const { url, simulator, bridged, clock } = await stageBridge();
  await simulator.stopLogin();
  clock.push(1_000);
  simulator.revokeAllTokens();
  const { status, headers } = await call(url);
  expect(status).toBe(401);
  expect(headers["countersign-outcome"]).toBe("answered");
  expect(bridged()).toEqual([undefined, undefined]);
  expect(simulator.counts().apiRequests).toBe(2);
});

/** A stage whose site has both methods and `bridge`; its first token has been used once. */
async function stageBridge({ site, environment, ...options }: StageOptions = {}) {
  const staged = await stage("living", {
    withBoth: true,
    site: { bridge: "hmac", ...site },
    environment: { defaultSite: bothSite, ...environment },
    ...options,
  });
  const { recorder, simulator } = staged;
  const bridged = () => recorder.of("request_finished").map(({ bridged }) => bridged);
  const lastSent = () => simulator.seen.apiRequests.at(-1);
  return { ...staged, bridged, lastSent };
}

/** The same, with an expired token and a stopped authorization server. */
async function stageOutage(options: StageOptions = {}) {
  const staged = await stageBridge(options);
  await staged.simulator.stopLogin();
  staged.expire();
  return staged;
}

/** Orders one after another until one carries a token; each is accepted. */
async function orderUntilToken({ url, clock, lastSent }: Awaited<ReturnType<typeof stageBridge>>): Promise<void> {
  do {
    clock.push(1_000);
    expect((await call(url)).status).toBe(200);
  } while (lastSent()?.token === undefined);
}
