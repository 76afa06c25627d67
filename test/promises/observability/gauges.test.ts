/**
 * The gauges for planning and for alerts: of tokens and credential sets, only those of
 * the active configuration; of limits, connections and certificates.
 */
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { earliestExpirySeconds } from "../../../src/adapters/stats/gauges.ts";
import type { Config } from "../../../src/config/config.ts";
import type { CredentialSet, Credentials } from "../../../src/model/environment.ts";
import { Secret } from "../../../src/model/secret.ts";
import { call, order } from "../../../testkit/call.ts";
import { authority, expiredCertificate, noTls, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { changed, sitesChanged } from "../../../testkit/environment.ts";
import type { Exposition } from "../../../testkit/exposition.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { listen } from "../../../testkit/listen.ts";
import { RawConnection } from "../../../testkit/raw-caller.ts";
import { granted, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { bothSite, oauthSite, type Stage, type StageOptions, stage } from "../../../testkit/stage.ts";

const hourSeconds = 3_600;
const environment = "sandbox";
const [blue, green] = [`${oauthSite}/blue`, `${oauthSite}/green`] as const;
const ofBlue = { environment, credential: blue };
const ofGreen = { environment, credential: green };

const samplesOf = (families: Exposition["families"], name: string) => families.get(name)?.samples ?? [];

/** Tokens are valid for an hour, and timestamps for longer than a test lasts. */
const simulator = { tokenLifetimeSeconds: hourSeconds, timestampToleranceSeconds: 100 * hourSeconds };

it("gauges of a token appear with it: when it was issued, when it expires", async () => {
  const { gauges, nowSeconds } = await stageHour();
  const { expiry, issued, lastUsed, active } = await gauges(ofBlue);
  expectNear(expiry, nowSeconds() + hourSeconds);
  expectNear(issued, nowSeconds());
  expect((expiry ?? 0) - (issued ?? 0)).toBeCloseTo(hourSeconds, 3);
  expect({ lastUsed, active }).toEqual({ lastUsed: undefined, active: 1 });
  expect(await gauges(ofGreen)).toEqual({ expiry: undefined, issued: undefined, lastUsed: undefined, active: 0 });
});

it("gauges of a token change when the next token follows", async () => {
  const { url, clock, gauges, recorder, nowSeconds } = await stageHour();
  await call(url);
  expectNear((await gauges(ofBlue)).lastUsed, nowSeconds());
  const before = await gauges(ofBlue);
  clock.push(0.89 * hourSeconds * 1_000);
  await recorder.nth("token_adopted", 2);
  const after = await gauges(ofBlue);
  expectNear(after.expiry, nowSeconds() + hourSeconds);
  expect(after.issued).toBeGreaterThan((before.issued ?? 0) + 3_000);
  expect(after.lastUsed).toBe(before.lastUsed);
});

it("gauges of an unused token end with it, but the time of the last use stays", async () => {
  const { url, clock, gauges, recorder } = await stageHour();
  await call(url);
  clock.push(0.89 * hourSeconds * 1_000);
  await recorder.nth("token_adopted", 2);
  const { lastUsed } = await gauges(ofBlue);
  clock.push(2 * hourSeconds * 1_000);
  await recorder.nth("token_lapsed", 1);
  expect(await gauges(ofBlue)).toEqual({ expiry: undefined, issued: undefined, lastUsed, active: 1 });
});

it("the time of the last use includes the first use, also by a request that waited for the token", async () => {
  const { url, clock, gauges, recorder, nowSeconds } = await stageHour();
  clock.push(2 * hourSeconds * 1_000);
  await recorder.nth("token_lapsed", 1);
  expect((await gauges(ofBlue)).lastUsed).toBeUndefined();
  expect((await call(url)).status).toBe(200);
  expectNear((await gauges(ofBlue)).lastUsed, nowSeconds());
});

/** The configuration's environments with the OAuth site's first set changed, and with or without its second set. */
function withSet(config: Config, change: Partial<CredentialSet>, keepsSecond = false): Pick<Config, "environments"> {
  return sitesChanged(config, (site) => {
    if (site.credentials === undefined) return site;
    const [first, ...rest] = site.credentials.sets;
    const sets = [{ ...first, ...change }, ...(keepsSecond ? rest : [])] as const;
    return { ...site, credentials: { owner: oauthSite, sets } };
  });
}

/** Changes the secret, at the authorization server too. */
function renewSecret({ simulator, config, reload }: Stage): Promise<void> {
  simulator.changeClientSecret("blue-id", "canary-client-secret-next");
  return reload(withSet(config, { clientSecret: new Secret("canary-client-secret-next") }));
}

/** A stage with one set, which has served an order. */
async function stageServed(options: StageOptions = {}): Promise<Stage> {
  const staged = await stage({ oneSet: true, ...options });
  expect((await call(staged.url)).status).toBe(200);
  return staged;
}

/** The sets that have each gauge on `/metrics`, or a token on `/status`. */
async function shown({ metrics, status }: Stage) {
  const { families } = await metrics();
  const of = (name: string) => samplesOf(families, name).map(({ labels }) => labels["credential"]);
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

it("a token outlives its secret, while the authorization server refuses the new secret", async () => {
  const staged = await stageServed();
  expect(await shown(staged)).toEqual(live);
  await staged.reload(withSet(staged.config, { clientSecret: new Secret("canary-wrong-secret") }));
  expect(await shown(staged)).toEqual(live);
  expect((await call(staged.url)).status).toBe(200);
});

it("a token that came with its new secret is shown", async () => {
  const staged = await stageServed();
  await renewSecret(staged);
  expect(await shown(staged)).toEqual(live);
  expect(staged.recorder.of("token_lapsed")).toEqual([]);
});

it("the time of a set's last use stays when its secret changes after its token has lapsed", async () => {
  const staged = await stageServed({ simulator });
  const lastUsed = async () =>
    (await staged.metrics()).value("countersign_credential_last_used_timestamp_seconds", ofBlue);
  const before = await lastUsed();
  expect(before).toBeGreaterThan(0);
  for (let n = 0; n < 3; n++) staged.clock.push(2 * hourSeconds * 1_000);
  await staged.recorder.nth("token_lapsed", 1);
  await renewSecret(staged);
  expect(await lastUsed()).toBe(before);
});

it("nothing is shown of a set whose configuration was refused", async () => {
  const staged = await stageServed();
  const bind = { kind: "tcp", host: "127.0.0.1", port: await listen(createServer()) } as const;
  const listeners = [{ bind, environment: "sandbox", hosts: [] }];
  const renamed = withSet(staged.config, { name: "next", label: `${oauthSite}/next` });
  await expect(staged.reload({ ...renamed, listeners })).rejects.toMatchObject({ code: "EADDRINUSE" });
  expect(await shown(staged)).toEqual(live);
});

it("a token that arrives after its set was removed is not shown", async () => {
  const staged = await stageServed();
  staged.simulator.revokeAllTokens();
  const hang = staged.simulator.faults.add({ host: "login", kind: "delay", delayMs: 200 });
  const last = call(staged.url);
  await hang.whenPlayed(1);
  const clientSecret = new Secret("canary-client-secret-green");
  const next = { name: "next", label: `${oauthSite}/next`, clientId: "green-id", clientSecret };
  await staged.reload(withSet(staged.config, next));
  expect((await last).status).toBe(200);
  const { active, expiry, issued, lastUsed } = await shown(staged);
  expect([...active, ...expiry, ...issued, ...lastUsed].filter((credential) => credential === blue)).toEqual([]);
});

it("the set in use stays in use while it is configured; when it is removed, the first set is used", async () => {
  const staged = await stage();
  await staged.recorder.nth("token_adopted", 1);
  staged.simulator.deleteCredentials("blue-id");
  staged.simulator.revokeAllTokens();
  expect((await call(staged.url)).status).toBe(200);
  const inUse = async () => {
    const { families } = await staged.metrics();
    const samples = samplesOf(families, "countersign_credential_active");
    const { credentials } = await staged.status();
    const onStatus = credentials.map(({ isActive }: { isActive: boolean }) => (isActive ? 1 : 0));
    expect(samples.map(({ value }) => value)).toEqual(onStatus);
    return Object.fromEntries(samples.map(({ labels, value }) => [labels["credential"], value]));
  };
  expect(await inUse()).toEqual({ [blue]: 0, [green]: 1 });
  const { expiry, lastUsed } = await shown(staged);
  for (const sets of [expiry, lastUsed]) expect(sets).toContain(green);
  const red = { name: "red", label: `${oauthSite}/red` };
  await staged.reload(withSet(staged.config, red, true));
  expect(await inUse()).toEqual({ [red.label]: 0, [green]: 1 });
  await staged.reload(withSet(staged.config, red));
  expect(await inUse()).toEqual({ [red.label]: 1 });
});

it("a set is not in use while the authorization server refuses it and no token of it is left", async () => {
  const staged = await stageServed({ simulator });
  const active = async () => {
    const { credentials } = await staged.status();
    const value = (await staged.metrics()).value("countersign_credential_active", ofBlue);
    return { gauge: value, status: credentials.map(({ isActive }: { isActive: boolean }) => isActive) };
  };
  staged.simulator.deleteCredentials("blue-id");
  staged.clock.push(0.89 * hourSeconds * 1_000);
  await staged.recorder.nth("token_requested", 2);
  expect(await active()).toEqual({ gauge: 1, status: [true] });
  staged.clock.push(2 * hourSeconds * 1_000);
  expect((await call(staged.url)).status).toBe(502);
  expect(await active()).toEqual({ gauge: 0, status: [false] });
});

async function configured({ metrics }: Stage) {
  const { families } = await metrics();
  const of = (name: string) => samplesOf(families, name).map(({ labels, value }) => ({ labels, value }));
  return { limits: of("countersign_requests_in_flight_limit"), sets: of("countersign_credential_info") };
}

const set = (credential: string, position: "first" | "second") => ({
  labels: { environment, credential, position },
  value: 1,
});
const limit = (value: number) => ({ labels: { environment }, value });

it("shows the limit of requests in flight, and each set once, as first or second, and follows a reload; a child site adds none", async () => {
  const staged = await stage({ withBoth: true });
  expect(await configured(staged)).toEqual({
    limits: [limit(256)],
    sets: [set(blue, "first"), set(green, "second"), set(`${bothSite}/both`, "first")],
  });
  const { environments } = sitesChanged(staged.config, (site) =>
    site.identifier === bothSite ? undefined : { ...site, credentials: site.credentials && swapped(site.credentials) },
  );
  await staged.reload({ environments, limits: { ...staged.config.limits, inFlightPerEnvironment: 7 } });
  expect(await configured(staged)).toEqual({
    limits: [limit(7)],
    sets: [set(green, "first"), set(blue, "second")],
  });
});

function swapped({ owner, sets: [first, second] }: Credentials): Credentials {
  return { owner, sets: second === undefined ? [first] : [second, first] };
}

const listener = "127.0.0.1:0";
const at = (text: string) => Date.parse(text) / 1_000;

it("shows the open connections of a listener beside their limit", async () => {
  const { port, metrics } = await stage();
  const shown = async () => {
    const { value } = await metrics();
    return [value("countersign_connections", { listener }), value("countersign_connections_limit", { listener })];
  };
  expect(await shown()).toEqual([0, 1_024]);
  const [first] = [await RawConnection.open(port), await RawConnection.open(port), await RawConnection.open(port)];
  await expect.poll(shown).toEqual([3, 1_024]);
  await first?.leave();
  await expect.poll(shown).toEqual([2, 1_024]);
});

it("measures how long each request waited for a token, but no request that needs no token", async () => {
  const pending: (() => void)[] = [];
  const login = await startRawUpstream({ answer: (_, socket) => pending.push(() => socket.write(granted)) });
  const staged = await stage({ authUrl: login.url, oneSet: true });
  const { url, clock, recorder, metrics } = staged;
  await login.whenRequests(1);
  const waiting = call(url, order);
  await whenInFlight(staged, 1);
  clock.push(700);
  pending.shift()?.();
  await waiting;
  await call(url, order, { headers: { "Countersign-Site": "S1000000003" } });
  await recorder.nth("request_finished", 2);
  const { value } = await metrics();
  const name = "countersign_token_wait_duration_seconds";
  expect(value(`${name}_count`, { environment })).toBe(1);
  expect(value(`${name}_bucket`, { environment, le: "0.5" })).toBe(0);
  expect(value(`${name}_sum`, { environment })).toBeGreaterThanOrEqual(0.7);
});

it("shows when the first certificate of each file expires, in both directions, and follows a reload", async () => {
  const tls = { ca: authority, cert: serverCertificate, key: new Secret(serverKey) };
  const bind = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
  const { config, metrics, reload } = await stage({
    environment: { tls: { ...tls, ca: `${authority}\n${expiredCertificate}` } },
    config: { listeners: [{ bind, environment, hosts: [], callers: { kind: "named", callers: [], tls } }] },
  });
  const shown = async () => {
    const { families } = await metrics();
    const samples = samplesOf(families, "countersign_certificate_expiry_timestamp_seconds");
    return samples.map(({ labels, value }) => [labels["use"], labels["listener"], labels["environment"], value]);
  };
  const far = at("2120-01-01T00:00:00Z");
  expect(await shown()).toEqual([
    ["upstream_ca", "none", environment, earliestExpirySeconds(expiredCertificate)],
    ["upstream_client", "none", environment, far],
    ["listener_server", listener, environment, far],
    ["listener_ca", listener, environment, far],
  ]);
  expect(earliestExpirySeconds(expiredCertificate)).toBeLessThan(at("2026-01-01T00:00:00Z"));
  await reload(changed(config, () => ({ tls: noTls })));
  expect((await shown()).map(([use]) => use)).toEqual(["listener_server", "listener_ca"]);
});

it("the age of an answer that comes from a cache is no clock skew", async () => {
  const made = new Date(Date.now() - hourSeconds * 1_000).toUTCString();
  const kept = `HTTP/1.1 200 OK\r\nDate: ${made}\r\nAge: ${hourSeconds}\r\nContent-Length: 0\r\n\r\n`;
  const { url, metrics } = await stage("service", { answer: (_, socket) => socket.write(kept) });
  expect((await call(url)).status).toBe(200);
  expectNear((await metrics()).value("countersign_clock_skew_seconds", { environment }), 0);
});

it("shows no clock skew of an environment that was removed", async () => {
  const { url, config, metrics, reload } = await stage();
  expect((await call(url)).status).toBe(200);
  const shown = async () => {
    const { families } = await metrics();
    return samplesOf(families, "countersign_clock_skew_seconds").map(({ labels }) => labels["environment"]);
  };
  expect(await shown()).toEqual([environment]);
  const name = "next";
  await reload({
    environments: new Map([...config.environments.values()].map((each) => [name, { ...each, name }])),
    listeners: config.listeners.map((each) => ({ ...each, environment: name })),
  });
  expect(await shown()).toEqual([]);
});

it("has no expiry for a file without a readable certificate", () => {
  expect(earliestExpirySeconds("")).toBeUndefined();
  expect(earliestExpirySeconds("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")).toBeUndefined();
});

async function stageHour() {
  const staged = await stage({ simulator });
  await staged.recorder.nth("token_adopted", 1);
  const gauges = async (credential: Record<string, string>) => {
    const { value } = await staged.metrics();
    return {
      expiry: value("countersign_token_expiry_timestamp_seconds", credential),
      issued: value("countersign_token_issued_timestamp_seconds", credential),
      lastUsed: value("countersign_credential_last_used_timestamp_seconds", credential),
      active: value("countersign_credential_active", credential),
    };
  };
  return { ...staged, gauges, nowSeconds: () => staged.clock.wallMs() / 1_000 };
}

/** Within a minute, as the machine may be busy. */
function expectNear(value: number | undefined, wanted: number): void {
  expect(Math.abs((value ?? Number.NaN) - wanted)).toBeLessThan(60);
}
