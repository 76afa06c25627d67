/** A secret that has rotated leaves nothing behind: neither its token, nor what was noted about it. */
import { queryObjects, setFlagsFromString } from "node:v8";
import { expect, it } from "vitest";
import { MemorySet } from "../../src/adapters/memory/token-store.ts";
import { openTokens } from "../../src/app/token-sources.ts";
import type { Config } from "../../src/config/config.ts";
import { systemClock } from "../../src/model/clock.ts";
import type { CredentialSet } from "../../src/model/environment.ts";
import { Secret } from "../../src/model/secret.ts";
import { TokenCache } from "../../src/oauth/token-cache.ts";
import { stageProxy } from "../../testkit/stage.ts";
import { TokenEndpointScript } from "../../testkit/token-endpoint-script.ts";

setFlagsFromString("--expose-gc");

const rotations = 5_000;
/** A few are in use, or wait for the collector. */
const most = 100;

function withSecret(config: Config, text: string): Config {
  const environments = [...config.environments.values()].map((environment) => {
    const sites = [...environment.sites.values()].map((site) => {
      if (site.credentials === undefined) return site;
      const change = (set: CredentialSet) => ({ ...set, clientSecret: new Secret(text) });
      const [first, ...rest] = site.credentials.sets;
      const sets = [change(first), ...rest.map(change)] as const;
      return { ...site, credentials: { ...site.credentials, sets } };
    });
    return { ...environment, sites: new Map(sites.map((site) => [site.identifier, site])) };
  });
  return { ...config, environments: new Map(environments.map((environment) => [environment.name, environment])) };
}

it("5,000 rotations keep as much as one", async () => {
  const { config, proxy } = await stageProxy({ oneSet: true });
  await proxy.stop("test");
  const login = new TokenEndpointScript();
  // Requests are over soon, or what they may still want would be what is counted.
  const timeouts = { ...config.timeouts, requestMs: 1 };
  const tokens = openTokens(
    () => login.endpoint,
    () => {},
    { clock: systemClock, random: Math.random, report: () => {} },
  );
  const count = () => [TokenCache, MemorySet, Secret].map((kind) => queryObjects(kind, { format: "count" }));
  const before = count();
  for (let n = 0; n < rotations; n++) {
    const next = withSecret({ ...config, timeouts }, `canary-client-secret-${n}`);
    await tokens.prepare(next);
    tokens.commit(next);
  }
  // Nothing waits for the first secret's token.
  expect(login.requests).toBeGreaterThanOrEqual(rotations - 1);
  const isBounded = () => {
    const [sources = 0, sets = 0, secrets = 0] = count().map((now, kind) => now - (before[kind] ?? 0));
    expect({ sources, sets, secrets, areFew: Math.max(sources, sets, secrets) < most }).toMatchObject({ areFew: true });
  };
  await expect.poll(() => isBounded()).toBeUndefined();
  await tokens.close();
});
