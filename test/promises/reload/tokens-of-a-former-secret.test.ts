/**
 * The token of a former secret is still used while the new secret has none; but never at another host than before, and
 * not in place of a token that is requested with other settings.
 */
import { expect, it, vi } from "vitest";
import type { Called } from "../../../testkit/call.ts";
import { canaries } from "../../../testkit/config-folder.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { audience, blueSet, oauthSite, type PodOptions, startPod } from "./pod.ts";

const second = "S1000000002";
const credentials = [{ clientId: "blue-id", clientSecret: canaries.blue, audience }];
const sitesOfOneClient = [
  { identifier: oauthSite, credentials },
  { identifier: second, parent: oauthSite },
];
const kept = "{ name: blue, dir: DIR/blue }";

// The sets share a label until one of their secrets is wrong.
it.each([
  ["first", blueSet, kept, `${oauthSite}/blue`],
  ["second", kept, blueSet, `${second}/blue`],
])("of two sites of one client the %s one's secret is wrong: both are served", async (_, first, other, mistaken) => {
  const oauthKeys = `credentials: [ ${first} ], children: { ${second}: { credentials: [ ${other} ] } }`;
  const options = { settings: { oauthKeys }, simulator: { sites: sitesOfOneClient } };
  const { simulator, orderAt, mistype, lines, metrics } = await startServed(options, [oauthSite, second]);
  expect(simulator.counts().tokenRequests).toBe(1);
  await mistype();
  for (const site of [oauthSite, second, oauthSite, second]) {
    expect(await orderAt(site)).toMatchObject({ status: 200 });
    expect(simulator.seen.apiRequests.at(-1)?.token).toBe("token_1");
  }
  expect(lines("token_lapsed")).toEqual([]);
  const { sum } = await metrics();
  for (const credential of [`${oauthSite}/blue`, `${second}/blue`]) {
    expect(sum("countersign_token_expiry_timestamp_seconds", { credential })).toBeGreaterThan(Date.now() / 1_000);
  }
  expect(sum("countersign_token_requests_total", { credential: mistaken, result: "refused" })).toBe(1);
});

it.each([
  ["with the way to the authorization server", "timeouts: { connect: 3s }"],
  ["alone", ""],
])("a baseUrl that changes %s never gets the token of a former secret", async (_, more) => {
  const { simulator, order, mistype, yaml, apply } = await startServed();
  await mistype();
  expect((await order()).status).toBe(200);
  const elsewhere = yaml({ more }).replace("baseUrl: http://127.0.0.1", "baseUrl: http://localhost");
  const { apiRequests } = simulator.counts();
  await apply(elsewhere, 2);
  const detail = /^The authorization server refused/;
  expectFailure(await order(), { status: 502, code: "credentials_refused", detail });
  expect(simulator.counts().apiRequests).toBe(apiRequests);
});

const set = (more: string) =>
  `credentials: [ { name: blue, clientId: blue-id, clientSecret: { file: DIR/mounts/blue/client-secret }, ${more} } ]`;
const asked = (more: string) => set(`audience: "${audience}", ${more}`);

it.each([
  ["scope", asked("token: { scope: orders }"), asked("token: { scope: refunds }")],
  ["resource", asked("token: { resource: a }"), asked("token: { resource: b }")],
  ["further fields", asked("token: { extra: { tenant: a } }"), asked("token: { extra: { tenant: b } }")],
  ["audience", set(`audience: "${audience}"`), set('audience: "https://other.example"')],
])("with another %s the former token is not used, even while there is no new one", async (_, before, after) => {
  const { simulator, order, apply, lines } = await startServed({ settings: { oauthKeys: before } });
  simulator.faults.add({ host: "login", clientId: "blue-id", kind: "answer", status: 500, times: "until_cleared" });
  const orders = simulator.seen.apiRequests.length;
  await apply({ oauthKeys: after }, 1);
  expect(await order()).toMatchObject({ headers: { "countersign-outcome": "not_sent" } });
  expect(simulator.seen.apiRequests).toHaveLength(orders);
  expect(lines("token_lapsed")).toMatchObject([{ level: "warn", reason: "changed" }]);
});

/** A pod that has served an order at each of these sites; `mistype` then makes the secret of the mounted set wrong. */
async function startServed(options: PodOptions = {}, sites = [oauthSite]) {
  const pod = await startPod(options);
  const orderAt = (site: string): Promise<Called> => pod.order({ "countersign-site": site });
  for (const site of sites) {
    const isServed = async () => expect(await orderAt(site)).toMatchObject({ status: 200 });
    await vi.waitFor(isServed, { timeout: 20_000, interval: 50 });
  }
  const mistype = () => {
    pod.blue.update({ "client-secret": "mistyped-client-secret\n" });
    return pod.nth("config_applied", 1);
  };
  return { ...pod, orderAt, mistype };
}
