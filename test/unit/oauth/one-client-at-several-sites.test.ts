/** Row 34 for a client id that several sites use: what the authorization server answers to one counts for all (spec 8). */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openTokens } from "../../../src/app/token-sources.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";
import { answered, TokenEndpointScript } from "../../../testkit/token-endpoint-script.ts";

const sites = ["S1000000001", "S1000000002", "S1000000003"];

async function loadSitesOfOneClient() {
  const folder = await mkdtemp(join(tmpdir(), "countersign-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "secret"), "a client secret of some length", { mode: 0o600 });
  const set = '{ name: blue, clientId: abc, clientSecret: { file: secret }, audience: "https://api.example" }';
  const file = join(folder, "countersign.yaml");
  await writeFile(
    file,
    [
      'listeners: [{ bind: "127.0.0.1:7411", environment: test }]',
      'admin: { bind: "127.0.0.1:7412" }',
      'status: { bind: "127.0.0.1:7413" }',
      "environments:",
      "  test:",
      "    baseUrl: https://api.example",
      "    authUrl: https://login.example",
      "    operations: [create_order]",
      "    sites:",
      ...sites.map((site) => `      ${site}: { credentials: [${set}] }`),
    ].join("\n"),
  );
  const loaded = await loadConfig(file);
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

it("asks an authorization server that answered 429 once, and shares the token afterwards", async () => {
  const clock = new FakeClock();
  const login = new TokenEndpointScript().next(answered(429, "", "60"));
  const surroundings = { clock, random: () => 0.5, report: () => {} };
  const tokens = openTokens(
    () => login.endpoint,
    () => {},
    surroundings,
  );
  onTestFinished(() => tokens.close());
  const config = await loadSitesOfOneClient();
  await tokens.prepare(config);
  tokens.commit(config);
  const ask = (site: string) => tokens.tokensOf("test", site).get(clock.nowMs() + 20_000);
  for (const site of sites) await expect(ask(site)).rejects.toMatchObject({ code: "token_unavailable" });
  expect(login.requests).toBe(1);
  await clock.advance(60_000);
  for (const site of sites) expect((await ask(site)).secret.reveal()).toBe("token_2");
  expect(login.requests).toBe(2);
});

it("reports no token of a set that was removed while its token was on the way", async () => {
  const clock = new FakeClock();
  const login = new TokenEndpointScript();
  const release = login.hold();
  const kinds: string[] = [];
  const dependencies = { clock, random: () => 0.5, report: () => {} };
  const tokens = openTokens(
    () => login.endpoint,
    ({ kind }) => kinds.push(kind),
    dependencies,
  );
  onTestFinished(() => tokens.close());
  const config = await loadSitesOfOneClient();
  await tokens.prepare(config);
  tokens.commit(config);
  tokens.warm();
  await clock.advance(100);
  expect(login.requests).toBe(1);
  const empty = { ...config, environments: new Map() };
  await tokens.prepare(empty);
  tokens.commit(empty);
  release();
  await clock.advance(1_000);
  expect(kinds).toContain("credential_removed");
  expect(kinds).toContain("token_requested");
  expect(kinds).not.toContain("token_adopted");
});
