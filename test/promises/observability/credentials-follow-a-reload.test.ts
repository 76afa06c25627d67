/** Row 54: what is shown of a credential set is that of the active configuration, with its secret; alarms and rotations depend on it. */
import { createServer } from "node:net";
import { expect, it } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import type { CredentialSet } from "../../../src/model/environment.ts";
import { Secret } from "../../../src/model/secret.ts";
import { call } from "../../../testkit/call.ts";
import { sitesChanged } from "../../../testkit/environment.ts";
import { listen } from "../../../testkit/listen.ts";
import { oauthSite, type Stage, type StageOptions, stageProxy } from "../../../testkit/stage.ts";

const blue = `${oauthSite}/blue`;

/** The configuration's environments with the OAuth site's first set changed, and with the second one or without. */
function withSet(config: Config, change: Partial<CredentialSet>, keepsSecond = false): Pick<Config, "environments"> {
  return sitesChanged(config, (site) => {
    if (site.credentials === undefined) return site;
    const [first, ...rest] = site.credentials.sets;
    const sets = [{ ...first, ...change }, ...(keepsSecond ? rest : [])] as const;
    return { ...site, credentials: { owner: oauthSite, sets } };
  });
}

/** Another secret, which the authorization server knows. */
function renewSecret({ simulator, config, reload }: Stage): Promise<void> {
  simulator.changeClientSecret("blue-id", "canary-client-secret-next");
  return reload(withSet(config, { clientSecret: new Secret("canary-client-secret-next") }));
}

/** A stage with one set, which has served an order. */
async function stageServed(options: StageOptions = {}): Promise<Stage> {
  const stage = await stageProxy({ oneSet: true, ...options });
  expect((await call(stage.url)).status).toBe(200);
  return stage;
}

/** What is shown of each set: its gauges on `/metrics`, and its token on `/status`. */
async function shown({ metrics, status }: Stage) {
  const { families } = await metrics();
  const of = (name: string) => families.get(name)?.samples.map(({ labels }) => labels["credential"]) ?? [];
  const { credentials } = await status();
  return {
    active: of("countersign_credential_active"),
    expiry: of("countersign_token_expiry_timestamp_seconds"),
    issued: of("countersign_token_issued_timestamp_seconds"),
    lastUsed: of("countersign_credential_last_used_timestamp_seconds"),
    status: credentials.map(({ credential, token }: { credential: string; token: object | "none" }) =>
      token === "none" ? `${credential} none` : credential,
    ),
  };
}

const live = { active: [blue], expiry: [blue], issued: [blue], lastUsed: [blue], status: [blue] };

it("a token outlives its secret, while the authorization server refuses the new one", async () => {
  const stage = await stageServed();
  expect(await shown(stage)).toEqual(live);
  await stage.reload(withSet(stage.config, { clientSecret: new Secret("canary-wrong-secret") }));
  expect(await shown(stage)).toEqual(live);
  expect((await call(stage.url)).status).toBe(200);
});

it("a token that came with its new secret is shown", async () => {
  const stage = await stageServed();
  await renewSecret(stage);
  expect(await shown(stage)).toEqual(live);
  expect(stage.recorder.of("token_lapsed")).toEqual([]);
});

it("the time of the last use stays with a set whose secret changes after its token has lapsed", async () => {
  const hours = (count: number) => count * 3_600;
  const simulator = { tokenLifetimeSeconds: hours(1), timestampToleranceSeconds: hours(100) };
  const stage = await stageServed({ simulator });
  const ofBlue = { environment: "sandbox", credential: blue };
  const lastUsed = async () =>
    (await stage.metrics()).value("countersign_credential_last_used_timestamp_seconds", ofBlue);
  const before = await lastUsed();
  expect(before).toBeGreaterThan(0);
  for (let n = 0; n < 3; n++) stage.clock.push(hours(2) * 1_000);
  await stage.recorder.nth("token_lapsed", 1);
  await renewSecret(stage);
  expect(await lastUsed()).toBe(before);
});

it("nothing is shown of a set whose configuration was refused", async () => {
  const stage = await stageServed();
  const bind = { kind: "tcp", host: "127.0.0.1", port: await listen(createServer()) } as const;
  const listeners = [{ bind, environment: "sandbox", hosts: [] }];
  const renamed = withSet(stage.config, { name: "next", label: `${oauthSite}/next` });
  await expect(stage.reload({ ...renamed, listeners })).rejects.toMatchObject({ code: "EADDRINUSE" });
  expect(await shown(stage)).toEqual(live);
});

it("a fetch that ends after its set has gone shows nothing of it", async () => {
  const stage = await stageServed();
  stage.simulator.revokeAllTokens();
  const hang = stage.simulator.faults.add({ host: "login", kind: "delay", delayMs: 200 });
  const last = call(stage.url);
  await hang.whenPlayed(1);
  const clientSecret = new Secret("canary-client-secret-green");
  const next = { name: "next", label: `${oauthSite}/next`, clientId: "green-id", clientSecret };
  await stage.reload(withSet(stage.config, next));
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
    const { families } = await stage.metrics();
    const { samples = [] } = families.get("countersign_credential_active") ?? {};
    const { credentials } = await stage.status();
    const onStatus = credentials.map(({ isActive }: { isActive: boolean }) => (isActive ? 1 : 0));
    expect(samples.map(({ value }) => value)).toEqual(onStatus);
    return Object.fromEntries(samples.map(({ labels, value }) => [labels["credential"], value]));
  };
  expect(await inUse()).toEqual({ [blue]: 0, [`${oauthSite}/green`]: 1 });
  const red = { name: "red", label: `${oauthSite}/red` };
  await stage.reload(withSet(stage.config, red, true));
  expect(await inUse()).toEqual({ [red.label]: 0, [`${oauthSite}/green`]: 1 });
  await stage.reload(withSet(stage.config, red));
  expect(await inUse()).toEqual({ [red.label]: 1 });
});
