/** Alarms compare with what is configured: limits and the order of credential sets follow every reload. */
import { expect, it } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import type { Credentials } from "../../../src/model/environment.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { bothSite, oauthSite, stageProxy } from "../../../testkit/stage.ts";

const environment = "sandbox";

async function shownAt(adminUrl: string) {
  const { families } = await scrape(adminUrl);
  const samplesOf = (name: string) =>
    (families.get(name)?.samples ?? []).map(({ labels, value }) => ({ labels, value }));
  return { limits: samplesOf("countersign_requests_in_flight_limit"), sets: samplesOf("countersign_credential_info") };
}

const set = (credential: string, position: "first" | "second") => ({
  labels: { environment, credential, position },
  value: 1,
});
const limit = (value: number) => ({ labels: { environment }, value });

it("shows the limit, and each set once with its position; a child shares its parent's", async () => {
  const { adminUrl } = await stageProxy({ withBoth: true });
  expect(await shownAt(adminUrl)).toEqual({
    limits: [limit(256)],
    sets: [set(`${oauthSite}/blue`, "first"), set(`${oauthSite}/green`, "second"), set(`${bothSite}/both`, "first")],
  });
});

it("follows a reload that changes the limit, swaps two sets and drops a third", async () => {
  const { adminUrl, proxy, config } = await stageProxy({ withBoth: true });
  await proxy.apply(reordered(config), "sighup");
  expect(await shownAt(adminUrl)).toEqual({
    limits: [limit(7)],
    sets: [set(`${oauthSite}/green`, "first"), set(`${oauthSite}/blue`, "second")],
  });
});

/** Green before blue, no site with both methods, 7 at once. */
function reordered(config: Config): Config {
  const environments = [...config.environments.values()].map((before) => {
    const sites = new Map(before.sites);
    sites.delete(bothSite);
    for (const [name, site] of sites) {
      if (site.credentials !== undefined) sites.set(name, { ...site, credentials: swapped(site.credentials) });
    }
    return { ...before, sites };
  });
  const limits = { ...config.limits, inFlightPerEnvironment: 7 };
  return { ...config, limits, hash: "ba9876543210", environments: new Map(environments.map((one) => [one.name, one])) };
}

function swapped({ owner, sets: [first, second] }: Credentials): Credentials {
  return { owner, sets: second === undefined ? [first] : [second, first] };
}
