/** A client id that several sites use: the authorization server's answer to one site counts for all (spec 8). */
import { expect, it } from "vitest";
import { ConfigFolder, edited } from "../../../testkit/config-folder.ts";
import { openTokensOf } from "../../../testkit/site-tokens.ts";
import { answered } from "../../../testkit/token-endpoint-script.ts";

const sites = ["S1000000001", "S1000000002", "S1000000004"];

it("requests a token only once from a server that answers 429, and shares the later token", async () => {
  const { clock, login, tokens, events, config, apply } = await stage();
  login.next(answered(429, "", "60"));
  const ask = (site: string) => tokens.tokensOf("sandbox", site).get(clock.nowMs() + 20_000);
  for (const site of sites) await expect(ask(site)).rejects.toMatchObject({ code: "token_unavailable" });
  expect(login.requests).toBe(1);
  await clock.advance(60_000);
  for (const site of sites) expect((await ask(site)).secret.reveal()).toBe("token_2");
  // The reload replaces all caches; their sets stay.
  await apply({ ...config, timeouts: { ...config.timeouts, connectMs: 1 } });
  for (const site of sites) expect((await ask(site)).secret.reveal()).toBe("token_2");
  expect(events.map(({ kind }) => kind)).not.toContain("credential_removed");
  expect(login.requests).toBe(2);
});

it("reports no token of a set that was removed during its token request", async () => {
  const { clock, login, tokens, events, config, apply } = await stage();
  const release = login.hold();
  tokens.warm();
  await clock.advance(100);
  expect(login.requests).toBe(1);
  await apply({ ...config, environments: new Map() });
  release();
  await clock.advance(1_000);
  const kinds = events.map(({ kind }) => kind);
  expect(kinds).toContain("credential_removed");
  expect(kinds).toContain("token_requested");
  expect(kinds).not.toContain("token_adopted");
});

/** The tokens of several sites with one client. */
async function stage() {
  const set = "          - { name: blue, dir: DIR/blue }\n";
  const more = sites.slice(1).map((site) => `      ${site}: { credentials: [ { name: blue, dir: DIR/blue } ] }\n`);
  const { config } = await new ConfigFolder().loadSound(edited([set, `${set}${more.join("")}`]));
  return { config, ...(await openTokensOf(config)) };
}
