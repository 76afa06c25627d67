/**
 * Row 67 for one client with a secret file at each of two sites: whichever file is mistaken, both sites are served with the
 * old token, though the sets share a label until then.
 */
import { expect, it, vi } from "vitest";
import { canaries } from "../../../testkit/config-folder.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { audience, oauthSite, startPod } from "./pod.ts";

const second = "S1000000002";
const credentials = [{ clientId: "blue-id", clientSecret: canaries.blue, audience }];
const sites = [
  { identifier: oauthSite, credentials },
  { identifier: second, parent: oauthSite },
];
const patience = { timeout: 20_000, interval: 50 };
const kept = "DIR/blue";
const changed = "DIR/mounts/blue";

/** Both sites have a token of one client; then the secret in `changed` is mistyped. */
async function startMistaken(first: string, other: string) {
  const sets = (dir: string) => `credentials: [ { name: blue, dir: ${dir} } ]`;
  const oauthKeys = `${sets(first)}, children: { ${second}: { ${sets(other)} } }`;
  const pod = await startPod({ settings: { oauthKeys }, simulator: { sites } });
  const orderAt = (site: string) => pod.order({ "countersign-site": site });
  for (const site of [oauthSite, second]) {
    await vi.waitFor(async () => expect(await orderAt(site)).toMatchObject({ status: 200 }), patience);
  }
  expect(pod.simulator.counts().tokenRequests).toBe(1);
  pod.blue.update({ "client-secret": "mistyped-client-secret\n" });
  await pod.nth("config_applied", 1);
  return { pod, orderAt };
}

it.each([
  ["first", changed, kept, `${oauthSite}/blue`],
  ["second", kept, changed, `${second}/blue`],
])("the %s site's secret is mistaken: both are served", async (_, first, other, mistaken) => {
  const { pod, orderAt } = await startMistaken(first, other);
  for (const site of [oauthSite, second, oauthSite, second]) {
    expect(await orderAt(site)).toMatchObject({ status: 200 });
    expect(pod.simulator.seen.apiRequests.at(-1)?.token).toBe("token_1");
  }
  expect(pod.lines("token_lapsed")).toEqual([]);
  const { sum } = await scrape(pod.adminUrl);
  for (const credential of [`${oauthSite}/blue`, `${second}/blue`]) {
    expect(sum("countersign_token_expiry_timestamp_seconds", { credential })).toBeGreaterThan(Date.now() / 1_000);
  }
  expect(sum("countersign_token_requests_total", { credential: mistaken, result: "refused" })).toBe(1);
});
