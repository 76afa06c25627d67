/** A wrong, empty or half-written new secret is noticed at once, and the old token is used until it expires. */
import { expect, it, vi } from "vitest";
import { expectFailure } from "../../testkit/expect-failure.ts";
import { scrape } from "../../testkit/exposition.ts";
import { blueSet, greenSet, oauthSite, type Pod, startPod } from "../promises/reload/pod.ts";

const anew = "canary-client-secret-blue-anew";
const half = anew.slice(0, 20);
const blue = `${oauthSite}/blue`;
const patience = { timeout: 20_000, interval: 50 };

const lastToken = ({ simulator }: Pod) => simulator.seen.apiRequests.at(-1)?.token;
const refusals = ({ simulator }: Pod) => simulator.seen.tokenRequests.filter(({ refusal }) => refusal !== undefined);

it("a half-written secret, or an empty one: the old token serves, the refusal is reported, and the whole secret takes over", async () => {
  const pod = await startMistaken();
  await expectServed(pod, "token_1");
  expect(refusals(pod)).toHaveLength(1);
  const line = await pod.nth("token_requested", 2);
  expect(line).toMatchObject({ result: "refused", credential: blue, level: "warn" });
  const { sum } = await scrape(pod.adminUrl);
  expect(sum("countersign_token_requests_total", { credential: blue, result: "refused" })).toBe(1);
  // The metric still shows the old token's expiry, for the alerts.
  expect(sum("countersign_token_expiry_timestamp_seconds", { credential: blue })).toBeGreaterThan(Date.now() / 1_000);
  expect((await fetch(`${pod.adminUrl}/readyz`)).status).toBe(200);
  expect(await (await fetch(pod.statusUrl)).text()).toMatch(
    /No new token for <code>S\d+\/blue<\/code>.*refuses the set/,
  );

  pod.simulator.changeClientSecret("blue-id", anew);
  pod.blue.update({ "client-secret": `${anew}\n` });
  await pod.nth("config_applied", 2);
  await expectServed(pod, "token_2");
  expect(pod.lines("token_lapsed")).toEqual([]);
  expect(refusals(pod)).toHaveLength(1);

  // An empty secret is refused with the configuration.
  pod.blue.update({ "client-secret": "" });
  await pod.nth("config_refused", 1);
  await expectServed(pod, "token_2");
});

it("a secret that the authorization server accepts only later is used by itself then", async () => {
  const pod = await startMistaken();
  pod.simulator.changeClientSecret("blue-id", half);
  const isTakenUp = async () => {
    expect(await pod.order()).toMatchObject({ status: 200 });
    expect(lastToken(pod)).toBe("token_2");
  };
  await vi.waitFor(isTakenUp, { timeout: 30_000, interval: 200 });
});

it("if the service refuses the old token, the 401 is passed on, without a flood of token requests", async () => {
  const pod = await startMistaken();
  pod.simulator.revokeAllTokens();
  const { tokenRequests } = pod.simulator.counts();
  for (let n = 0; n < 50; n++) expect((await pod.order()).status).toBe(401);
  expect(pod.simulator.counts().tokenRequests).toBeLessThanOrEqual(tokenRequests + 1);
});

it("the old token is used until its own expiry", async () => {
  const pod = await startMistaken({ simulator: { tokenLifetimeSeconds: 12 } });
  await expectServed(pod, lastToken(pod) ?? "");
  await pod.nth("token_lapsed", 1);
  expectFailure(await pod.order(), {
    status: 502,
    code: "credentials_refused",
    detail: /^The authorization server refused/,
  });
});

it("the second set takes over as soon as it has a token", async () => {
  const pod = await startPod({ settings: { oauthKeys: `credentials: [ ${blueSet}, ${greenSet} ]` } });
  await vi.waitFor(async () => expect(await pod.order()).toMatchObject({ status: 200 }), patience);
  const slow = pod.simulator.faults.add({ host: "login", clientId: "green-id", kind: "hang" });
  pod.blue.update({ "client-secret": half });
  await pod.nth("config_applied", 1);
  await expectServed(pod, "token_1");
  slow.release();
  const hasTakenOver = async () => {
    expect(await pod.order()).toMatchObject({ status: 200 });
    // The request that hung may have been given up: then its token is not used.
    expect(lastToken(pod)).toMatch(/^token_[23]$/);
  };
  await vi.waitFor(hasTakenOver, patience);
});

/** Expects that orders through the pod are served with this token. */
async function expectServed(pod: Pod, token: string): Promise<void> {
  for (let n = 0; n < 5; n++) expect(await pod.order()).toMatchObject({ status: 200 });
  expect(lastToken(pod)).toBe(token);
}

/** A pod with a token, whose secret changes to one that the authorization server refuses. */
async function startMistaken(options: Parameters<typeof startPod>[0] = {}): Promise<Pod> {
  const pod = await startPod({ settings: { more: "readiness: token" }, ...options });
  await vi.waitFor(async () => expect(await pod.order()).toMatchObject({ status: 200 }), patience);
  pod.blue.update({ "client-secret": half });
  await pod.nth("config_applied", 1);
  return pod;
}
