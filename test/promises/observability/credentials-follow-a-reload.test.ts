/** Row 54: what is shown of a credential set is that of the active configuration, with its secret; alarms and rotations depend on it. */
import { createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import type { CredentialSet } from "../../../src/model/environment.ts";
import { Secret } from "../../../src/model/secret.ts";
import { call } from "../../../testkit/call.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { oauthSite, type Stage, stageProxy } from "../../../testkit/stage.ts";

const blue = `${oauthSite}/blue`;

/** The configuration with the OAuth site's sole set changed. */
function withSet(config: Config, change: Partial<CredentialSet>): Config {
  return withFirstSet(config, change, false);
}

/** The configuration with the OAuth site's first set changed, and with or without the second. */
function withFirstSet(config: Config, change: Partial<CredentialSet>, keepsSecond: boolean): Config {
  const environments = [...config.environments.values()].map((environment) => {
    const sites = new Map(environment.sites);
    for (const [identifier, site] of sites) {
      if (site.credentials === undefined) continue;
      const [first, ...rest] = site.credentials.sets;
      const sets = [{ ...first, ...change }, ...(keepsSecond ? rest : [])] as const;
      sites.set(identifier, { ...site, credentials: { owner: oauthSite, sets } });
    }
    return [environment.name, { ...environment, sites }] as const;
  });
  return { ...config, environments: new Map(environments), hash: "ba9876543210" };
}

/** What is shown of each set: its gauges on `/metrics`, and its token on `/status`. */
async function shown({ adminUrl, statusUrl }: Stage) {
  const { families } = await scrape(adminUrl);
  const of = (name: string) => families.get(name)?.samples.map(({ labels }) => labels["credential"]) ?? [];
  const { json } = await call(statusUrl, "", { method: "GET", path: "/status" });
  return {
    active: of("countersign_credential_active"),
    expiry: of("countersign_token_expiry_timestamp_seconds"),
    issued: of("countersign_token_issued_timestamp_seconds"),
    lastUsed: of("countersign_credential_last_used_timestamp_seconds"),
    status: json.credentials.map(({ credential, token }: { credential: string; token: object | "none" }) =>
      token === "none" ? `${credential} none` : credential,
    ),
  };
}

const live = { active: [blue], expiry: [blue], issued: [blue], lastUsed: [blue], status: [blue] };

it("a token outlives its secret, while the authorization server refuses the new one", async () => {
  const stage = await stageProxy({ oneSet: true });
  expect((await call(stage.url)).status).toBe(200);
  expect(await shown(stage)).toEqual(live);
  await stage.proxy.apply(withSet(stage.config, { clientSecret: new Secret("canary-wrong-secret") }), "sighup");
  expect(await shown(stage)).toEqual(live);
  expect((await call(stage.url)).status).toBe(200);
});

it("a token that came with its new secret is shown", async () => {
  const stage = await stageProxy({ oneSet: true });
  expect((await call(stage.url)).status).toBe(200);
  stage.simulator.changeClientSecret("blue-id", "canary-client-secret-next");
  await stage.proxy.apply(withSet(stage.config, { clientSecret: new Secret("canary-client-secret-next") }), "sighup");
  expect(await shown(stage)).toEqual(live);
  expect(stage.recorder.of("token_lapsed")).toEqual([]);
});

it("the time of the last use stays with a set whose secret changes after its token has lapsed", async () => {
  const clock = new ShiftedClock();
  const hours = (count: number) => count * 3_600;
  const simulator = { tokenLifetimeSeconds: hours(1), timestampToleranceSeconds: hours(100) };
  const stage = await stageProxy({ oneSet: true, simulator, surroundings: { clock } });
  expect((await call(stage.url)).status).toBe(200);
  const lastUsed = async () =>
    (await scrape(stage.adminUrl)).value("countersign_credential_last_used_timestamp_seconds", {
      environment: "sandbox",
      credential: blue,
    });
  const before = await lastUsed();
  expect(before).toBeGreaterThan(0);
  for (let n = 0; n < 3; n++) clock.push(hours(2) * 1_000);
  await stage.recorder.nth("token_lapsed", 1);
  stage.simulator.changeClientSecret("blue-id", "canary-client-secret-next");
  await stage.proxy.apply(withSet(stage.config, { clientSecret: new Secret("canary-client-secret-next") }), "sighup");
  expect(await lastUsed()).toBe(before);
});

it("nothing is shown of a set whose configuration was refused", async () => {
  const stage = await stageProxy({ oneSet: true });
  expect((await call(stage.url)).status).toBe(200);
  const taken = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void taken.close());
  await new Promise((resolve) => taken.once("listening", resolve));
  const { port } = taken.address() as { port: number };
  const renamed = withSet(stage.config, { name: "next", label: `${oauthSite}/next` });
  const listeners = [{ bind: { kind: "tcp", host: "127.0.0.1", port }, environment: "sandbox", hosts: [] } as const];
  await expect(stage.proxy.apply({ ...renamed, listeners }, "sighup")).rejects.toMatchObject({ code: "EADDRINUSE" });
  expect(await shown(stage)).toEqual(live);
});

it("a fetch that ends after its set has gone shows nothing of it", async () => {
  const stage = await stageProxy({ oneSet: true });
  expect((await call(stage.url)).status).toBe(200);
  stage.simulator.revokeAllTokens();
  const hang = stage.simulator.faults.add({ host: "login", kind: "delay", delayMs: 200 });
  const last = call(stage.url);
  await hang.whenPlayed(1);
  const next = { name: "next", label: `${oauthSite}/next`, clientId: "green-id" };
  const secret = new Secret("canary-client-secret-green");
  await stage.proxy.apply(withSet(stage.config, { ...next, clientSecret: secret }), "sighup");
  expect((await last).status).toBe(200);
  const { active, expiry, issued, lastUsed } = await shown(stage);
  expect([...active, ...expiry, ...issued, ...lastUsed].filter((credential) => credential === blue)).toEqual([]);
});

it("the set in use stays in use while it is configured, and the first is used when it has gone", async () => {
  const stage = await stageProxy();
  await stage.recorder.nth("token_adopted", 1);
  stage.simulator.deleteCredentials("blue-id");
  stage.simulator.revokeAllTokens();
  expect((await call(stage.url)).status).toBe(200);
  const inUse = async () => {
    const { families } = await scrape(stage.adminUrl);
    const { samples = [] } = families.get("countersign_credential_active") ?? {};
    const { json } = await call(stage.statusUrl, "", { method: "GET", path: "/status" });
    const onStatus = json.credentials.map(({ isActive }: { isActive: boolean }) => (isActive ? 1 : 0));
    expect(samples.map(({ value }) => value)).toEqual(onStatus);
    return Object.fromEntries(samples.map(({ labels, value }) => [labels["credential"], value]));
  };
  expect(await inUse()).toEqual({ [blue]: 0, [`${oauthSite}/green`]: 1 });
  const red = { name: "red", label: `${oauthSite}/red` };
  await stage.proxy.apply(withFirstSet(stage.config, red, true), "sighup");
  expect(await inUse()).toEqual({ [red.label]: 0, [`${oauthSite}/green`]: 1 });
  await stage.proxy.apply(withFirstSet(stage.config, red, false), "sighup");
  expect(await inUse()).toEqual({ [red.label]: 1 });
});
