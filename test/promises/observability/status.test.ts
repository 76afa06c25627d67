/** Product section 5: `/status` shows the configuration, the state of each token, and the last 100 unknown outcomes. */
import { expect, it } from "vitest";
import { version } from "../../../src/version.ts";
import { addressOf } from "../../../testkit/address.ts";
import { call, get, order } from "../../../testkit/call.ts";
import { ConfigFolder, sound } from "../../../testkit/config-folder.ts";
import { changed } from "../../../testkit/environment.ts";
import { granted, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { canaries, childSite, hmacSite, oauthSite, stage } from "../../../testkit/stage.ts";

const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

it("shows the version and the configuration, secrets masked", async () => {
  const { written } = (await new ConfigFolder().loadSound(sound)).config;
  const { config, recorder, statusUrl } = await stage({ withBoth: true, config: { written } });
  await recorder.nth("token_adopted", 1);
  const { status, headers, json: shown, text } = await get(statusUrl, "/status");
  expect({ status, type: headers["content-type"] }).toEqual({ status: 200, type: "application/json" });
  expect(shown).toMatchObject({ version, startedAt: isoTime, configHash: config.hash });
  expect(shown.readiness).toMatchObject({ isReady: true, reason: "ok" });
  const { sandbox } = shown.configuration.environments;
  expect(sandbox).toMatchObject({
    baseUrl: "https://api.sandbox.example/json-api",
    authUrl: "https://login.sandbox.example",
    operations: ["create_order"],
    defaultSite: "S1000000001",
  });
  const file = expect.stringMatching(/^\//);
  expect(sandbox.sites.S1000000001.credentials).toEqual([
    { name: "blue", clientId: "blue-id", clientSecret: { file }, audience: "https://api.sandbox.example" },
  ]);
  expect(sandbox.sites.S1000000003.keys[0]).toMatchObject({ identifier: "K2000000001", secret: { file } });
  for (const secret of Object.values(canaries)) expect(text).not.toContain(secret);
});

it("says how many log lines are lost, as JSON and on the page", async () => {
  const { statusUrl } = await stage({ surroundings: { droppedLogLines: () => 1_234 } });
  expect((await get(statusUrl, "/status")).json).toMatchObject({ droppedLogLines: 1_234 });
  expect((await get(statusUrl, "/")).text).toContain("1,234 log lines are lost");
});

it("says where it listens, with the real port instead of port 0", async () => {
  const staged = await stage();
  const route = expect.stringMatching(new RegExp(`^${new URL(staged.url).host} leads to sandbox: `));
  expect(staged.recorder.of("started")[0]?.routes).toContainEqual(route);
  expect((await staged.status()).reload.routes).toContainEqual(route);
});

it("shows the state of each token: none, in use, lapsed", async () => {
  const staged = await stage({ simulator: { tokenLifetimeSeconds: 3_600 } });
  await staged.recorder.nth("token_adopted", 1);
  await call(staged.url);
  const { credentials } = await staged.status();
  expect(credentials).toEqual([
    {
      environment: "sandbox",
      credential: `${oauthSite}/blue`,
      isActive: true,
      token: {
        issuedAt: isoTime,
        expiresAt: isoTime,
        lifetimeMs: 3_600_000,
        remainingMs: expect.any(Number),
        issuedHere: true,
        reason: "start",
      },
      lastUsedAt: isoTime,
      requests: { issued: { count: 1, lastAt: isoTime } },
      lastRequest: { at: isoTime, result: "issued", reason: "start", status: 200 },
    },
    { environment: "sandbox", credential: `${oauthSite}/green`, isActive: false, token: "none", requests: {} },
  ]);
  const { issuedAt, expiresAt } = credentials[0].token;
  expect(Date.parse(expiresAt) - Date.parse(issuedAt)).toBe(3_600_000);
  staged.clock.push(2 * 3_600_000);
  await staged.recorder.nth("token_lapsed", 1);
  expect((await staged.status()).credentials[0]).toMatchObject({ token: "none", lastUsedAt: isoTime });
});

it("lists only requests whose outcome is unknown, newest first, with everything needed to look them up", async () => {
  const staged = await stage();
  const { url, simulator, recorder } = staged;
  const reset = { host: "api", kind: "reset", when: "after_reading" } as const;
  simulator.faults.add(reset);
  const first = await call(url, order, { headers: { "Countersign-Reference": "A-1" } });
  await call(url);
  await call(url, "{", { headers: { "Countersign-Reference": "A-2" } });
  simulator.faults.add({ host: "api", kind: "truncate" });
  const cut = await call(url, order, { path: "/get_order", headers: { "Countersign-Site": hmacSite } });
  expect(cut.status).toBe(502);
  const { requestId } = await recorder.nth("request_finished", 4);
  const { unknownOutcomes, requests } = await staged.status();
  expect(unknownOutcomes).toEqual([
    {
      at: isoTime,
      environment: "sandbox",
      site: hmacSite,
      operation: "get_order",
      requestId,
      code: "upstream_reset",
      stage: "stream_answer",
    },
    {
      at: isoTime,
      environment: "sandbox",
      site: oauthSite,
      operation: "create_order",
      reference: "A-1",
      requestId: first.headers["countersign-request-id"],
      code: "upstream_reset",
      stage: "send",
    },
  ]);
  expect(requests).toEqual({
    inFlight: 0,
    answeredBy: { service: 1, countersign: 3 },
    unknownOutcomes: 2,
    settledOutcomes: 0,
    failures: { upstream_reset: 2, body_not_json: 1 },
  });
});

it("says on the page what was awaited when a deadline passed", async () => {
  const staged = await stage({ baseUrl: (await startRawUpstream({})).url });
  const headers = { "Countersign-Site": hmacSite, "Countersign-Timeout-Ms": "100" };
  expect((await call(staged.url, order, { headers })).status).toBe(504);
  await staged.recorder.nth("request_finished", 1);
  expect((await staged.status()).environments[0].recent.failures).toMatchObject([{ cause: "no answer" }]);
  expect(await staged.page()).toContain(": it had given no answer at the deadline: the order may exist; see whether");
});

it("says who was not reached, even after a reload has corrected the address", async () => {
  const staged = await stage({ baseUrl: "http://127.0.0.1:1", site: { auth: ["hmac"] } });
  const headers = { "Countersign-Site": hmacSite };
  expect((await call(staged.url, order, { headers })).status).toBe(502);
  await staged.recorder.nth("request_finished", 1);
  await staged.reload(changed(staged.config, () => ({ baseUrl: addressOf(staged.simulator.apiUrl) })));
  expect((await call(staged.url, order, { headers })).status).toBe(200);
  await staged.recorder.nth("request_finished", 2);
  const { recent, baseUrl: shown } = (await staged.status()).environments[0];
  expect(shown).toBe(staged.simulator.apiUrl);
  expect(recent.failures).toMatchObject([{ what: "upstream_unreachable", server: "http://127.0.0.1:1" }]);
  expect(recent).toMatchObject({ lastFailedAt: isoTime, succeededSince: 1 });
  const page = await staged.page();
  expect(page).toContain(
    "http://127.0.0.1:1: connections are refused (ECONNREFUSED); environments.sandbox.baseUrl does",
  );
  expect(page).toContain("; the 1 since then succeeded.");
});

it("does not stay green while a maintenance page answers 200", async () => {
  const staged = await stage();
  const headers = { "content-type": "text/html" };
  staged.simulator.faults.add({ host: "api", kind: "answer", status: 200, headers, body: "<html>Maintenance</html>" });
  expect((await call(staged.url)).status).toBe(200);
  await staged.recorder.nth("request_finished", 1);
  expect((await staged.status()).environments[0].recent.notJson).toEqual([{ contentType: "text/html", count: 1 }]);
  expect(await staged.page()).toContain("1 × <code>text/html</code></strong> in sandbox. ");
});

it("lists the last 100 unknown outcomes", async () => {
  const staged = await stage();
  const { url, simulator, recorder } = staged;
  simulator.faults.add({ host: "api", kind: "reset", when: "after_reading", times: "until_cleared" });
  for (let n = 1; n <= 103; n++) {
    await call(url, order, { headers: { "Countersign-Reference": `A-${n}` } });
    await recorder.nth("request_finished", n);
  }
  const { unknownOutcomes, requests } = await staged.status();
  expect(requests.unknownOutcomes).toBe(103);
  expect(unknownOutcomes.map(({ reference }: { reference: string }) => reference)).toEqual(
    Array.from({ length: 100 }, (_, index) => `A-${103 - index}`),
  );
});

it("counts requests by environment and site: who answered, what failed, what the service refused", async () => {
  const staged = await stage();
  const { url, simulator, recorder } = staged;
  const at = (site: string) => ({ headers: { "Countersign-Site": site } });
  await call(url);
  simulator.faults.add({ host: "api", kind: "answer", status: 403 });
  await call(url, order, at(childSite));
  await call(url, { ...order, version: "1.0" }, at(hmacSite));
  await call(url, "{");
  await call(url, "{");
  const hang = simulator.faults.add({ host: "api", kind: "hang" });
  const open = call(url);
  await hang.whenPlayed(1);
  await recorder.nth("request_finished", 5);
  const { environments, requests } = await staged.status();
  const [{ sites, withoutSite, ...sandbox }] = environments;
  const none = { answeredBy: { service: 0, countersign: 0 }, lastAt: isoTime, failures: {}, refusals: {} };
  const once = { count: 1, lastAt: isoTime };
  expect(sandbox).toMatchObject({
    name: "sandbox",
    baseUrl: simulator.apiUrl,
    operations: ["create_order", "get_order"],
  });
  expect(sites.map(({ identifier }: { identifier: string }) => identifier)).toEqual([oauthSite, childSite, hmacSite]);
  expect(sites.map(({ tally }: { tally: unknown }) => tally)).toEqual([
    { ...none, answeredBy: { service: 1, countersign: 0 } },
    { ...none, answeredBy: { service: 1, countersign: 0 }, refusals: { "403": once } },
    { ...none, answeredBy: { service: 0, countersign: 1 }, failures: { version_mismatch: once } },
  ]);
  expect(withoutSite).toEqual({
    ...none,
    answeredBy: { service: 0, countersign: 2 },
    failures: { body_not_json: { count: 2, lastAt: isoTime } },
    // Mistakes of callers are no failures of the service.
    failedLately: 0,
  });
  expect(requests.inFlight).toBe(1);
  hang.release();
  await open;
  await recorder.nth("request_finished", 6);
  expect((await staged.status()).requests.inFlight).toBe(0);
});

it("shows since when no token is available, and why, until there is one; and how requests are answered", async () => {
  let isDown = true;
  const login = await startRawUpstream({
    answer: (_, socket) => socket.write(isDown ? rawAnswer(503, "{}") : granted),
  });
  const timeouts = { requestMs: 5_000, connectMs: 1_000, tokenMs: 300 };
  const staged = await stage({ authUrl: login.url, config: { timeouts } });
  await staged.recorder.nth("token_requested", 1);
  expect((await call(staged.url)).status).toBe(503);
  await staged.recorder.nth("request_finished", 1);
  // While a request is under way, there is no next try.
  let down = await staged.status();
  while (down.environments[0].tokenOutages[0]?.nextTryAt === undefined) down = await staged.status();
  const [outage] = down.environments;
  expect(outage.tokenOutages).toMatchObject([
    {
      sites: [oauthSite, childSite],
      since: isoTime,
      lastRequest: { result: "failed", status: 503 },
      nextTryAt: isoTime,
    },
  ]);
  expect(down.credentials[0].failingSince).toBe(outage.tokenOutages[0].since);
  expect(down.readiness.isReady).toBe(true);
  expect(await staged.page()).toContain("No token");
  isDown = false;
  const served = async () => (await call(staged.url)).status;
  await expect.poll(served, { timeout: 50_000 }).toBe(401);
  const [healed] = (await staged.status()).environments;
  expect(healed.tokenOutages).toEqual([]);
  expect(healed.answers.service["4xx"]).toBe(1);
  expect(healed.recent.failures[0]).toMatchObject({ by: "countersign", what: "token_unavailable" });
  expect(await staged.page()).not.toContain("Orders fail");
});
