/** Events and state as `/status` shows them, and readiness: after a reload the remaining parts keep their history, the others lose it. */
import { describe, expect, it } from "vitest";
import { createMetrics } from "../../src/adapters/stats/metrics.ts";
import { createReadiness } from "../../src/adapters/stats/readiness.ts";
import { describeCallbackEnd, RecentRequests } from "../../src/adapters/stats/recent-requests.ts";
import { createStats, type EnvironmentStatus } from "../../src/adapters/stats/stats.ts";
import { findSitesWithoutToken } from "../../src/adapters/stats/token-stats.ts";
import { createWallTime } from "../../src/model/clock.ts";
import type { CredentialSet, Environment, Site } from "../../src/model/environment.ts";
import type { CredentialSnapshot, RequestFinished } from "../../src/model/events.ts";
import type { RedisSnapshot } from "../../src/model/redis-access.ts";
import { Secret } from "../../src/model/secret.ts";
import { environmentOf, siteOf } from "../../testkit/environment.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";
import { finishedRequest } from "../../testkit/finished-request.ts";
import { configuredOf, statsSource } from "../../testkit/stats-source.ts";
import { darkNight, quietNight, unanswered } from "./status-snapshot.ts";

const minuteMs = 60_000;

const finished = (change: Partial<RequestFinished>) => finishedRequest({ auth: "oauth", ...change });

const started = { kind: "started", version: "", configHash: "", routes: ["a"], admin: "", status: "" } as const;

const ok = { by: "service", status: 200, outcome: "answered", code: undefined } as const;
const left = { by: "countersign", status: 499, outcome: "not_sent", code: undefined } as const;

describe("the status model", () => {
  it("shows the configured sets, and keeps what each has requested until the process ends", async () => {
    const { model, state } = openModel(environment("sandbox", site("S1", "blue", "green"), site("S2", "own")));
    for (const label of ["S1/blue", "S1/green"]) model.report(requested("sandbox", label, "refused"));
    state.environments = [environment("sandbox", site("S1", "blue", "red")), environment("live", site("S9", "own"))];
    state.credentials = [
      snapshotOf("sandbox", "S1/blue"),
      snapshotOf("sandbox", "S1/red", { isActive: false, token: undefined }),
      snapshotOf("live", "S9/own", { token: undefined }),
    ];
    const { credentials } = await model.view();
    expect(credentials).toMatchObject([
      { environment: "sandbox", credential: "S1/blue", isActive: true, token: { lifetimeMs: 3_600_000 } },
      { environment: "sandbox", credential: "S1/red", isActive: false, token: "none" },
      { environment: "live", credential: "S9/own", isActive: true, token: "none" },
    ]);
    expect(credentials.map(({ requests }) => requests)).toEqual([
      { refused: { count: 1, lastAt: "2026-11-21T12:00:00.000Z" } },
      {},
      {},
    ]);
    model.report(requested("sandbox", "S1/green", "issued"));
    expect((await model.view()).credentials).toEqual(credentials);
    state.credentials = [snapshotOf("sandbox", "S1/green")];
    expect((await model.view()).credentials).toMatchObject([
      {
        requests: { refused: { count: 1 }, issued: { count: 1 } },
        lastRequest: { result: "issued" },
        failingSince: undefined,
      },
    ]);
  });

  it("counts a token of another replica as the end of a failure", async () => {
    const { model, state } = openModel(environment("sandbox", site("S1", "blue")));
    state.credentials = [snapshotOf("sandbox", "S1/blue", { token: undefined, backoffUntilMs: 11_000 })];
    const shown = async () => (await model.view()).credentials[0];
    expect(await shown()).toMatchObject({ failingSince: undefined, nextTryAt: undefined });
    model.report(requested("sandbox", "S1/blue", "refused"));
    const at = "2026-11-21T12:00:00.000Z";
    expect(await shown()).toMatchObject({
      failingSince: at,
      requests: { refused: { lastAt: at } },
      nextTryAt: "2026-11-21T12:00:10.000Z",
    });
    const life = { lifetimeMs: 3_600_000, remainingMs: 3_600_000 };
    const adopted = { environment: "sandbox", credential: "S1/blue", issuedHere: false, reason: "missing" } as const;
    model.report({ kind: "token_adopted", ...adopted, ...life });
    expect(await shown()).toMatchObject({
      failingSince: undefined,
      requests: { refused: { lastAt: at } },
      nextTryAt: undefined,
    });
  });

  it("says when token requests go on, while the address of the authorization server pauses", async () => {
    const { model, state } = openModel(environment("sandbox", site("S1", "blue")));
    state.credentials = [snapshotOf("sandbox", "S1/blue", { addressPausedUntilMs: 11_000 })];
    const [blue] = (await model.view()).credentials;
    expect(blue).toMatchObject({ failingSince: undefined, nextTryAt: "2026-11-21T12:00:10.000Z" });
  });

  it("shows the configured sites, keeps all counts as metrics do, and shows unknown outcomes even of removed sites", async () => {
    const [sandbox, old] = [environment("sandbox", site("S1", "a")), environment("old", site("S7", "a"))];
    const { model, state } = openModel(sandbox, old);
    model.report(finished({}));
    model.report(finished({ environment: "old", site: "S7", outcome: "unknown", by: "countersign", reference: "A-1" }));
    state.environments = [environment("sandbox", site("S1", "a"), site("S2", "b"))];
    model.report(finished({ environment: "old", site: "S7" }));
    const { environments, requests, unknownOutcomes } = await model.view();
    const talliesOf = ({ name, sites }: EnvironmentStatus) => [name, sites.map(({ tally }) => tally.answeredBy)];
    const [none, one] = [0, 1].map((service) => ({ service, countersign: 0 }));
    expect(environments.map(talliesOf)).toEqual([["sandbox", [one, none]]]);
    expect(requests).toMatchObject({ answeredBy: { service: 2, countersign: 1 }, unknownOutcomes: 1 });
    expect(unknownOutcomes).toMatchObject([{ environment: "old", site: "S7", reference: "A-1" }]);
    state.environments = [old];
    expect((await model.view()).environments.map(talliesOf)).toEqual([["old", [{ service: 1, countersign: 1 }]]]);
  });

  it("shows when each thing happened last", async () => {
    const { model, clock } = openModel(environment("sandbox", site("S1", "a")));
    const failure = { by: "countersign", status: 503, outcome: "not_sent", code: "overloaded" } as const;
    for (const change of [{}, failure, { status: 404 }]) model.report(finished(change));
    await clock.advance(60_000);
    for (const change of [failure, { status: 404, operationLabel: "get_order" }]) model.report(finished(change));
    await clock.advance(60_000);
    model.report(finished({}));
    const lastAt = "2026-11-21T12:01:00.000Z";
    expect((await model.view()).environments[0]?.sites[0]?.tally).toEqual({
      answeredBy: { service: 4, countersign: 2 },
      lastAt: "2026-11-21T12:02:00.000Z",
      failures: { overloaded: { count: 2, lastAt } },
      refusals: { "404": { count: 2, lastAt } },
    });
  });

  it("counts connections to the service that failed for different causes separately, and no other cause", async () => {
    const { model } = openModel(environment("sandbox", site("S1", "a")));
    const failed = { by: "countersign", status: 502, outcome: "not_sent", code: "upstream_unreachable" } as const;
    for (const cause of ["ECONNREFUSED", "EAI_AGAIN", "ECONNREFUSED"]) model.report(finished({ ...failed, cause }));
    for (const cause of ["ECONNRESET", "EPIPE"]) model.report(finished({ ...failed, code: "upstream_reset", cause }));
    const kind = { by: "countersign", site: "S1", auth: "oauth", operation: "create_order" };
    expect((await model.view()).environments[0]?.recent.failures).toEqual([
      { ...kind, what: "upstream_unreachable", cause: "ECONNREFUSED", count: 2 },
      { ...kind, what: "upstream_reset", cause: undefined, count: 2 },
      { ...kind, what: "upstream_unreachable", cause: "EAI_AGAIN", count: 1 },
    ]);
  });

  it.each([
    ["malformed_request", 400, ["HTTP/2", "TLS"]],
    ["once_unavailable", 503, ["Redis", "tokens.cache"]],
    ["token_unavailable", 503, ["HTTP 503", "ECONNREFUSED"]],
  ] as const)("counts %s by cause, since what to do depends on it", async (code, status, causes) => {
    const { model } = openModel(environment("sandbox", site("S1", "a")));
    for (const cause of [...causes, causes[0]]) {
      model.report(finished({ by: "countersign", status, outcome: "not_sent", code, cause }));
    }
    const { failures = [] } = (await model.view()).environments[0]?.recent ?? {};
    expect(failures.map(({ cause, count }) => [cause, count])).toEqual([
      [causes[0], 2],
      [causes[1], 1],
    ]);
  });

  it("keeps a bounded number of causes, however many a caller makes up, and those of other codes as before", async () => {
    const { model } = openModel(environment("sandbox", site("S1", "a")));
    const refused = { by: "countersign", status: 400, outcome: "not_sent", code: "malformed_request" } as const;
    for (let n = 0; n < 1_000; n += 1) model.report(finished({ ...refused, cause: `HTTP/9.${n}` }));
    const lost = { by: "countersign", status: 502, outcome: "not_sent", code: "upstream_unreachable" } as const;
    model.report(finished({ ...lost, cause: "ECONNREFUSED" }));
    const { failures = [] } = (await model.view()).environments[0]?.recent ?? {};
    expect(failures).toHaveLength(52);
    expect(failures[0]).toMatchObject({ what: "malformed_request", cause: undefined, count: 950 });
    expect(failures).toContainEqual(expect.objectContaining({ what: "upstream_unreachable", cause: "ECONNREFUSED" }));
  });

  it("keeps the server that was not reached, and the host of a redirect, with the failure", async () => {
    const { model } = openModel(environment("sandbox", site("S1", "a")));
    const lost = { by: "countersign", status: 502, outcome: "not_sent", code: "upstream_unreachable" } as const;
    const servers = ["http://127.0.0.1:1", "http://127.0.0.1:2"];
    for (const server of servers) model.report(finished({ ...lost, cause: "ECONNREFUSED", server }));
    model.report(finished({ status: 302, location: "login.corp.example" }));
    const { failures = [] } = (await model.view()).environments[0]?.recent ?? {};
    expect(failures.map(({ server, location }) => server ?? location)).toEqual([...servers, "login.corp.example"]);
  });

  it("keeps why Redis was away, or no token came, with the failure, though both are back", async () => {
    const { model } = openModel(environment("sandbox", site("S1", "a")));
    const away = {
      node: "cache",
      address: "redis://cache:6379",
      failure: "connection",
      cause: "ECONNREFUSED",
    } as const;
    const refused = { by: "countersign", status: 503, outcome: "not_sent" } as const;
    const keyless = { ...refused, code: "once_unavailable", cause: "Redis" } as const;
    model.report(finished(keyless));
    model.report({ kind: "redis_down", ...away, awayMs: undefined });
    model.report(finished(keyless));
    model.report({ kind: "redis_up", node: "cache", awayMs: 1 });
    const detail = "https://login.example refuses the set (401)";
    model.report({ ...requested("sandbox", "S1/a", "refused"), detail });
    const tokenless = { ...refused, code: "credentials_refused", cause: "HTTP 401" } as const;
    model.report(finished(tokenless));
    model.report(requested("sandbox", "S1/a", "issued"));
    const { failures = [] } = (await model.view()).environments[0]?.recent ?? {};
    expect(failures).toMatchObject([
      { what: "once_unavailable", count: 2, reason: "redis://cache:6379: connections are refused (ECONNREFUSED)" },
      { what: "credentials_refused", count: 1, reason: detail },
    ]);
    model.report(finished(keyless));
    model.report(finished({ ...tokenless, cause: "HTTP 500" }));
    const [, , later] = (await model.view()).environments[0]?.recent.failures ?? [];
    expect(later).toMatchObject({ cause: "HTTP 500", reason: undefined });
  });

  it("says how many failed in a row, and keeps the method that is not allowed", async () => {
    const { model } = openModel(environment("sandbox", site("S1", "a")));
    for (const status of [404, 404, 404, 200, 404, 404, 200]) model.report(finished({ status }));
    const refused = { by: "countersign", status: 405, outcome: "not_sent", code: "method_not_allowed" } as const;
    model.report(finished({ ...refused, method: "GET" }));
    const { recent } = (await model.view()).environments[0] ?? expect.unreachable();
    expect(recent).toMatchObject({ failedInRow: 2, succeededSince: 1 });
    expect(recent.failures).toMatchObject([{ what: "404" }, { what: "method_not_allowed", cause: "GET" }]);
  });

  it("puts what fails now before what has failed more often", async () => {
    const { model, clock } = openModel(environment("sandbox", site("S1", "a")));
    const kinds = async () =>
      (await model.view()).environments[0]?.recent.failures.map(
        ({ what, isFormer }) => what + (isFormer ? " before" : ""),
      );
    for (let n = 0; n < 9; n += 1) model.report(finished({ status: 429 }));
    for (let n = 0; n < 4; n += 1) model.report(finished({ status: 302 }));
    await clock.advance(20_000);
    model.report(finished({ status: 404 }));
    for (let n = 0; n < 3; n += 1) model.report(finished({ status: 401 }));
    await clock.advance(20_000);
    model.report(finished({}));
    expect(await kinds()).toEqual(["401", "404", "429 before", "302 before"]);
  });

  it("takes an answer that is no JSON for no sign that a failure is over", async () => {
    const { model } = openModel(environment("sandbox", site("S1", "a")));
    model.report(finished({ status: 404 }));
    model.report(finished({ contentType: "text/html" }));
    const recent = async () => (await model.view()).environments[0]?.recent;
    expect(await recent()).toMatchObject({ requests: 2, succeededSince: 0 });
  });

  it("takes a callback of any site for a sign that the application accepts them again", () => {
    const recent = new RecentRequests();
    const add = (...[site, result]: Parameters<typeof describeCallbackEnd>) =>
      recent.add(describeCallbackEnd(site, result) ?? expect.unreachable(), 1, 0);
    add("S1", "application_unreachable");
    add("S2", "delivered");
    expect(recent.view(0).succeededSince).toBe(1);
    add("S1", "signature_wrong");
    add("S2", "delivered");
    expect(recent.view(0).succeededSince).toBe(0);
  });

  it("says when the last request failed, and how many have succeeded since", async () => {
    const { model, clock } = openModel(environment("sandbox", site("S1", "a")));
    const recent = async () => (await model.view()).environments[0]?.recent;
    model.report(finished({}));
    expect(await recent()).toMatchObject({ lastFailedAt: undefined, succeededSince: 1 });
    await clock.advance(60_000);
    model.report(finished({ status: 404 }));
    const lastFailedAt = "2026-11-21T12:01:00.000Z";
    expect(await recent()).toMatchObject({ lastFailedAt, succeededSince: 0 });
    await clock.advance(40_000);
    for (let n = 0; n < 12; n += 1) model.report(finished({}));
    expect(await recent()).toMatchObject({ lastFailedAt, succeededSince: 12 });
  });

  it("counts the successes of all sites that had failed, those of the last one apart", async () => {
    const { model } = openModel(environment("sandbox", site("S1", "a"), site("S2", "b"), site("S3", "c")));
    const report = (status: number, ...sites: readonly string[]) => {
      for (const site of sites) model.report(finished({ site, status }));
    };
    report(503, "S1", "S2", "S1");
    report(200, "S2", "S3", "S1", "S2", "S1", "S1");
    const recent = async () => (await model.view()).environments[0]?.recent;
    expect(await recent()).toMatchObject({ succeededSince: 3, othersSince: 2 });
    report(503, "S3");
    report(200, "S1", "S3");
    expect(await recent()).toMatchObject({ succeededSince: 1, othersSince: 0 });
  });

  it("takes successes of another site, and mistakes of callers, for no sign that a failure is over or goes on", async () => {
    const { model, clock } = openModel(environment("sandbox", site("S1", "a"), site("S2", "b")));
    const recent = async () => (await model.view()).environments[0]?.recent;
    model.report(finished({ site: "S1", status: 401 }));
    const { lastFailedAt } = (await recent()) ?? {};
    await clock.advance(40_000);
    for (const site of ["S2", "S2", "S1"]) model.report(finished({ site }));
    const mistake = { by: "countersign", status: 415, outcome: "not_sent", code: "media_type_not_supported" } as const;
    model.report(finished({ ...mistake, site: undefined }));
    expect(await recent()).toMatchObject({ lastFailedAt, succeededSince: 1, requests: 5 });
    expect((await recent())?.failingSites).toEqual([{ site: "S1", requests: 2, failed: 1 }]);
    expect((await recent())?.steps.at(-1)).toEqual({ succeeded: 3, mistaken: 1, failed: 0, unknown: 0 });
  });

  it("shows method and operation of failures that all have one", async () => {
    const { model } = openModel(environment("sandbox", site("S1", "a")));
    for (const operation of ["create_order", "get_order"])
      model.report(finished({ site: "S1", status: 401, operation, operationLabel: operation }));
    model.report(finished({ site: "S1", status: 404, operation: "get_order", operationLabel: "get_order" }));
    expect((await model.view()).environments[0]?.recent.failures).toMatchObject([
      { what: "401", auth: "oauth", operation: undefined },
      { what: "404", auth: "oauth", operation: "get_order" },
    ]);
  });

  it("counts answers that succeeded and are not JSON, by media type", async () => {
    const { model } = openModel(environment("sandbox", site("S1", "a")));
    for (const contentType of ["text/plain", "text/html", "text/html", undefined]) {
      model.report(finished({ contentType }));
    }
    model.report(finished({ status: 503, outcome: "unknown", contentType: "text/html" }));
    expect((await model.view()).environments[0]?.recent.notJson).toEqual([
      { contentType: "text/html", count: 2 },
      { contentType: "text/plain", count: 1 },
    ]);
  });

  it("counts the failures of the last minutes before a site is known", async () => {
    const { model } = openModel(environment("sandbox", site("S1", "a")));
    const early = { by: "countersign", status: 503, outcome: "not_sent", code: "overloaded" } as const;
    for (let n = 0; n < 3; n += 1) model.report(finished({ ...early, site: undefined }));
    const [sandbox] = (await model.view()).environments;
    expect(sandbox?.withoutSite).toMatchObject({ answeredBy: { countersign: 3 }, failedLately: 3 });
    expect(sandbox?.sites[0]?.failedLately).toBe(0);
  });

  it("shows the configured Redis servers, and since when each is up or down", async () => {
    const { model, state, clock } = openModel();
    expect((await model.view()).redis).toEqual([]);
    const at = "2026-11-21T12:00:00.000Z";
    const cache = { node: "cache", address: "redis://cache:6379" };
    state.redis = [
      { ...cache, isUp: true, sinceMs: clock.nowMs(), failure: undefined, cause: undefined },
      { ...cache, node: "lock-2", isUp: false, sinceMs: clock.nowMs(), failure: "connection", cause: "ECONNREFUSED" },
      { ...cache, node: "lock-3", isUp: undefined, sinceMs: undefined, failure: undefined, cause: undefined },
    ];
    await clock.advance(60_000);
    expect((await model.view()).redis).toEqual([
      { ...cache, isUp: true, since: at, failure: undefined, cause: undefined },
      { ...cache, node: "lock-2", isUp: false, since: at, failure: "connection", cause: "ECONNREFUSED" },
      { ...cache, node: "lock-3", isUp: undefined, since: undefined, failure: undefined, cause: undefined },
    ]);
  });

  it("shows since when a configuration is active, and the last refused one until it is fixed", async () => {
    const { model, clock } = openModel();
    model.report(started);
    const { inForceSince } = (await model.view()).reload;
    const refused = { trigger: "sighup", problems: ["p"], problemCount: 51 } as const;
    model.report({ kind: "config_refused", hash: "h", ...refused });
    expect((await model.view()).reload).toMatchObject({
      inForceSince,
      trigger: "start",
      routes: ["a"],
      lastRefused: { ...refused, isPending: true },
    });
    model.report({ kind: "config_unchanged", hash: "h" });
    expect((await model.view()).reload.lastRefused?.isPending).toBe(false);
    model.report({ kind: "config_refused", hash: "h", trigger: "file_change", problems: ["q"], problemCount: 1 });
    expect((await model.view()).reload.lastRefused).toMatchObject({ isPending: true, problems: ["q"] });
    await clock.advance(1_000);
    model.report({ kind: "config_applied", hash: "i", previousHash: "h", trigger: "file_change", routes: [] });
    const { lastRefused, ...now } = (await model.view()).reload;
    expect(now).toMatchObject({ trigger: "file_change", routes: ["a"] });
    expect(now.inForceSince).not.toBe(inForceSince);
    expect(lastRefused?.isPending).toBe(false);
  });

  it("measures a token's remaining time by the monotonic clock, whatever the wall clock is set to", async () => {
    const { model, clock, state } = openModel(environment("sandbox", site("S1", "blue")));
    state.credentials = [snapshotOf("sandbox", "S1/blue")];
    expect((await model.view()).credentials[0]?.token).toMatchObject({ expiresAt: "2026-11-21T13:00:00.000Z" });
    await clock.advance(600_000);
    clock.jumpWall(-5 * 3_600_000);
    const [blue] = (await model.view()).credentials;
    expect(blue?.token).toMatchObject({ remainingMs: 3_000_000, lifetimeMs: 3_600_000 });
    const expiresAt = new Date(clock.wallMs() + 3_000_000).toISOString();
    expect(blue?.token).toMatchObject({ expiresAt });
  });
});

describe("the traffic of an environment", () => {
  it("is counted by origin of the answer and class of status; requests older than five minutes are forgotten", async () => {
    const { add, shown, clock } = openTraffic();
    for (let n = 0; n < 90; n += 1) add({ ...ok, durationMs: 40 });
    await clock.advance(2 * minuteMs);
    for (let n = 0; n < 10; n += 1) add({ ...ok, status: 503, outcome: "unknown", durationMs: 700 });
    add({ ...left, durationMs: 1 });
    const answers = { service: { "2xx": 90, "5xx": 10 }, countersign: { "4xx": 1 } };
    expect((await shown()).answers).toEqual(answers);
    await clock.advance(minuteMs);
    const { recent } = await shown();
    expect(recent).toMatchObject({ seconds: 300, requests: 101, medianMs: 50, p95Ms: 1_000 });
    expect(recent.perSecond).toBeCloseTo(101 / 180);
    await clock.advance(3 * minuteMs);
    expect((await shown()).recent).toMatchObject({ requests: 11, medianMs: 1_000 });
    await clock.advance(2 * minuteMs);
    expect((await shown()).recent).toMatchObject({ requests: 0, medianMs: undefined, p95Ms: undefined });
    expect((await shown()).answers).toEqual(answers);
  });

  it("has a rate over the time since the first request, or over a second if that is longer", async () => {
    const { add, shown, clock } = openTraffic();
    for (let n = 0; n < 20; n += 1) {
      await clock.advance(n === 0 ? minuteMs : 50);
      add({ ...ok, durationMs: 40 });
    }
    expect((await shown()).recent.perSecond).toBe(20);
    await clock.advance(3_050);
    expect((await shown()).recent.perSecond).toBe(5);
  });

  it("shows the failures, the most frequent first, and each step of ten seconds", async () => {
    const { add, shown, clock } = openTraffic();
    // Moves to the beginning of a step.
    await clock.advance(310_000 - clock.nowMs());
    add({ ...ok, durationMs: 1 });
    await clock.advance(280_000);
    add({ ...left, durationMs: 1 });
    await clock.advance(10_000);
    for (const site of ["S1", "S2"]) add({ ...ok, site, status: 404, durationMs: 1 });
    add({ ...ok, site: "S2", status: 403, durationMs: 1 });
    add({ by: "countersign", status: 502, outcome: "unknown", code: "upstream_reset", durationMs: 1 });
    // An answer that was cut after its head had been passed on.
    add({ ...ok, outcome: "unknown", code: "upstream_reset", durationMs: 1 });
    await clock.advance(9_999);
    const { failures, failingSites, steps } = (await shown()).recent;
    const ofAll = { auth: "hmac", operation: "create_order" };
    expect(failures).toEqual([
      { ...ofAll, by: "service", what: "404", count: 2, site: undefined },
      { ...ofAll, by: "countersign", what: "499", count: 1, site: "S1" },
      { ...ofAll, by: "service", what: "403", count: 1, site: "S2" },
      { ...ofAll, by: "countersign", what: "upstream_reset", count: 1, site: "S1" },
      { ...ofAll, by: "service", what: "upstream_reset", count: 1, site: "S1" },
    ]);
    expect(failingSites).toEqual([
      { site: "S1", requests: 5, failed: 4 },
      { site: "S2", requests: 2, failed: 2 },
    ]);
    expect(steps).toHaveLength(30);
    const none = { succeeded: 0, mistaken: 0, failed: 0, unknown: 0 };
    expect(steps.slice(1, -2)).toEqual(Array(27).fill(none));
    expect([steps[0], ...steps.slice(-2)]).toEqual([
      { ...none, succeeded: 1 },
      { ...none, failed: 1 },
      { ...none, failed: 3, unknown: 2 },
    ]);
  });

  it("counts a repetition as no failure if its key kept a second order from being sent", async () => {
    const { add, shown } = openTraffic();
    const refused = { by: "countersign", outcome: "not_sent", durationMs: 1 } as const;
    add({ ...refused, status: 409, code: "already_sent" });
    add({ ...refused, status: 409, code: "once_in_progress" });
    add({ ...refused, status: 422, code: "once_key_reused" });
    add({ ...refused, status: 503, code: "once_unavailable" });
    const { requests, failures } = (await shown()).recent;
    expect(requests).toBe(4);
    expect(failures.map(({ what }) => what)).toEqual(["once_key_reused", "once_unavailable"]);
  });

  it("has no bound for a duration beyond the last one", async () => {
    const { add, shown } = openTraffic();
    add({ ...ok, durationMs: 60_000 });
    expect((await shown()).recent.medianMs).toBeUndefined();
  });
});

it("a token outage names the sites that requested a token and have none in any set, and no others", () => {
  const sites = darkNight.environments[0]?.sites ?? [];
  const [blue = expect.unreachable(), green = expect.unreachable()] = darkNight.credentials;
  const { failingSince: since, lastRequest, nextTryAt } = blue;
  const outages = [{ sites: ["S1000000001", "S1000000002"], sets: [blue.credential], since, lastRequest, nextTryAt }];
  const both = outages.map((outage) => ({ ...outage, sets: [blue.credential, green.credential] }));
  expect(findSitesWithoutToken(sites, [blue, green])).toEqual(both);
  // The second set has never been tried.
  expect(findSitesWithoutToken(sites, [blue, { ...green, failingSince: undefined }])).toEqual(outages);
  // No token has been requested yet.
  const quiet = { failingSince: undefined, lastRequest: undefined };
  const untried = [blue, green].map((set) => ({ ...set, ...quiet }));
  expect(findSitesWithoutToken(sites, untried)).toEqual([]);
  const [fresh] = quietNight.credentials;
  if (fresh === undefined || fresh.token === "none") throw new Error("the night has a token");
  // A valid token of one set serves, even if its refresh fails.
  expect(findSitesWithoutToken(sites, [blue, { ...green, token: fresh.token }])).toEqual([]);
  const expired = { ...fresh.token, remainingMs: -1 };
  expect(findSitesWithoutToken(sites, [{ ...blue, token: expired }, green])).toEqual(both);
});

it("token outages are told apart by cause, and by set where sets are refused; that of the failing orders is first", () => {
  const [set = expect.unreachable()] = darkNight.credentials;
  const failing = (credential: string, detail: string, fix: string) => {
    return { ...set, credential, lastRequest: { ...unanswered, detail, fix } };
  };
  const credentials = [
    failing("S1/blue", "it refuses the set (401)", "compare client id (one)"),
    failing("S2/blue", "it refuses the set (401)", "compare client id (two)"),
    failing("S3/blue", "it gets too many token requests (429)", "wait"),
    failing("S4/blue", "it gets too many token requests (429)", "wait"),
  ];
  const sites = ["S1", "S2", "S3", "S4"].map((identifier) => {
    return { identifier, credentials: [`${identifier}/blue`], failedLately: identifier === "S2" ? 7 : 0 };
  });
  const outages = findSitesWithoutToken(sites, credentials);
  expect(outages.map(({ sites, lastRequest }) => [sites, lastRequest?.fix])).toEqual([
    [["S2"], "compare client id (two)"],
    [["S1"], "compare client id (one)"],
    [["S3", "S4"], "wait"],
  ]);
});

describe("readiness, with another configuration", () => {
  const [one, two] = [environment("sandbox", site("S1", "a")), environment("live", site("S9", "b"))];

  /** A process that listens and waits for the environment's token; `issue` gives a set a token. */
  function awaiting(...environments: readonly Environment[]) {
    const readiness = createReadiness(new FakeClock());
    readiness.follow(environments);
    readiness.report(started);
    const token = { lifetimeMs: 10_000, remainingMs: 10_000, issuedHere: true, reason: "start" } as const;
    const issue = (environment: string, credential: string) =>
      readiness.report({ kind: "token_adopted", environment, credential, ...token });
    return { readiness, issue };
  }

  it("waits for the default site of every environment, and never uses one environment's token for another", () => {
    const { readiness, issue } = awaiting(one, two);
    issue("sandbox", "S2/other");
    issue("live", "S1/a");
    expect(readiness.view().reason).toBe("no token yet for sandbox: S1");
    issue("sandbox", "S1/a");
    expect(readiness.view().reason).toBe("no token yet for live: S9");
    issue("live", "S9/b");
    expect(readiness.view().reason).toBe("ok");
  });

  it("waits for the new one's tokens if it was not ready, except for sets that already have a token", () => {
    const { readiness, issue } = awaiting(one);
    issue("live", "S9/b");
    expect(readiness.view()).toMatchObject({ isReady: false, reason: "no token yet for sandbox: S1" });
    const other = environment("third", site("S3", "c"));
    readiness.follow([two, other]);
    expect(readiness.view()).toMatchObject({ isReady: false, reason: "no token yet for third: S3" });
    issue("third", "S3/c");
    expect(readiness.view()).toMatchObject({ isReady: true });
  });

  it("counts a token that has lapsed before the first probe", () => {
    const { readiness, issue } = awaiting(one);
    issue("sandbox", "S1/a");
    readiness.report({ kind: "token_lapsed", environment: "sandbox", credential: "S1/a", reason: "expired" });
    expect(readiness.view()).toMatchObject({ isReady: true });
  });

  it("is ready as soon as no token is missing", () => {
    const { readiness } = awaiting(one);
    readiness.follow([]);
    expect(readiness.view()).toMatchObject({ isReady: true });
  });

  it("stays ready once it was ready, even if no probe had come before the reload", async () => {
    const { readiness, issue } = awaiting(one);
    issue("sandbox", "S1/a");
    readiness.follow([two]);
    expect(readiness.view()).toMatchObject({ isReady: true, awaitsToken: false, reason: "ok" });
    readiness.report({ kind: "draining", signal: "SIGTERM", inFlight: 0 });
    expect(readiness.view()).toMatchObject({ isReady: false, reason: "draining" });
  });
});

/** A site with OAuth and sets of these names. */
function site(identifier: string, ...names: readonly [string, ...string[]]): Site {
  const make = (name: string): CredentialSet => {
    return { label: `${identifier}/${name}`, name, clientId: name, clientSecret: new Secret(name), audience: "a" };
  };
  const [first, ...rest] = names;
  return siteOf(identifier, { credentials: { owner: identifier, sets: [make(first), ...rest.map(make)] } });
}

/** An environment whose first site is the default one. */
function environment(name: string, ...sites: readonly Site[]): Environment {
  return environmentOf(sites, { name, defaultSite: sites[0]?.identifier });
}

/** A set as its owner reports it: with a token for an hour, requested when the fake clock starts. */
function snapshotOf(environment: string, credential: string, change: Partial<CredentialSnapshot> = {}) {
  const token = { lifetimeMs: 3_600_000, expiresAtMs: 3_601_000, issuedHere: true, reason: "start" } as const;
  const rest = { isActive: true, lastUsedMs: undefined, backoffUntilMs: undefined, isInOutage: false };
  return { environment, credential, token, ...rest, ...change };
}

function requested(environment: string, credential: string, result: "issued" | "refused") {
  const answer = { durationMs: 1, status: result === "issued" ? 200 : 401, pauseMs: undefined };
  const server = "https://login.example";
  return { kind: "token_requested", environment, credential, server, result, reason: "start", ...answer } as const;
}

/** A status model and its sources, which the test changes. */
function openModel(...environments: readonly Environment[]) {
  const clock = new FakeClock();
  const state = {
    environments,
    credentials: [] as readonly CredentialSnapshot[],
    redis: [] as readonly RedisSnapshot[],
  };
  const source = statsSource({
    configured: () => configuredOf({ environments: state.environments }),
    routes: () => ["a"],
    credentials: () => state.credentials,
    redis: () => state.redis,
    wallTime: createWallTime(clock),
  });
  const stats = createStats(source, createMetrics(), clock);
  const model = { ...stats, view: () => stats.view({ isReady: true, reason: "ok" }, {}) };
  return { model, clock, state };
}

/** The traffic model of an environment. */
function openTraffic() {
  const { model, clock } = openModel(environmentOf());
  const add = (change: Partial<RequestFinished>) => model.report(finishedRequest(change));
  return { clock, add, shown: async () => (await model.view()).environments[0] ?? expect.unreachable() };
}
