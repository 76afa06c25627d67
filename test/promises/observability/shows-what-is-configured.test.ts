/** Alarms compare with what is configured: limits and the order of credential sets follow every reload. */
import { expect, it } from "vitest";
import type { Credentials } from "../../../src/model/environment.ts";
import { sitesChanged } from "../../../testkit/environment.ts";
import { bothSite, oauthSite, type Stage, stageProxy } from "../../../testkit/stage.ts";

const environment = "sandbox";

async function shown({ metrics }: Stage) {
  const { families } = await metrics();
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
  expect(await shown(await stageProxy({ withBoth: true }))).toEqual({
    limits: [limit(256)],
    sets: [set(`${oauthSite}/blue`, "first"), set(`${oauthSite}/green`, "second"), set(`${bothSite}/both`, "first")],
  });
});

it("follows a reload that changes the limit, swaps two sets and drops a third", async () => {
  const stage = await stageProxy({ withBoth: true });
  const { environments } = sitesChanged(stage.config, (site) =>
    site.identifier === bothSite ? undefined : { ...site, credentials: site.credentials && swapped(site.credentials) },
  );
  await stage.reload({ environments, limits: { ...stage.config.limits, inFlightPerEnvironment: 7 } });
  expect(await shown(stage)).toEqual({
    limits: [limit(7)],
    sets: [set(`${oauthSite}/green`, "first"), set(`${oauthSite}/blue`, "second")],
  });
});

function swapped({ owner, sets: [first, second] }: Credentials): Credentials {
  return { owner, sets: second === undefined ? [first] : [second, first] };
}
