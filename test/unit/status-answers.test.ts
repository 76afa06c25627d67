/** What an environment's traffic was like: in all, and in the last five minutes. */
import { expect, it } from "vitest";
import { createMetrics } from "../../src/adapters/stats/metrics.ts";
import { createStats } from "../../src/adapters/stats/stats.ts";
import { findTokenOutage } from "../../src/adapters/stats/token-stats.ts";
import type { RequestFinished } from "../../src/model/events.ts";
import { environmentOf } from "../../testkit/environment.ts";
import { finishedRequest } from "../../testkit/finished-request.ts";
import { configuredOf, statsSource } from "../../testkit/stats-source.ts";
import { darkNight, quietNight } from "./status-snapshot.ts";

const minuteMs = 60_000;

const environment = environmentOf();

/** What `/status` shows of an environment at moments of the monotonic clock. */
function openTraffic() {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, wallMs: () => nowMs, after: () => () => {} };
  const source = statsSource({ configured: () => configuredOf({ environments: [environment] }) });
  const stats = createStats(source, createMetrics(), clock);
  const shown = () => stats.view().environments[0] ?? expect.fail();
  return {
    add(change: Partial<RequestFinished>, atMs: number) {
      nowMs = atMs;
      stats.report(finishedRequest(change));
    },
    total: () => shown().answers,
    recent(atMs: number) {
      nowMs = atMs;
      return shown().recent;
    },
  };
}

const ok = { by: "service", status: 200, outcome: "answered", code: undefined } as const;
const failed = { ...ok, status: 503, outcome: "unknown" } as const;
const left = { by: "countersign", status: 499, outcome: "not_sent", code: undefined } as const;

it("counts by who answered and class of status, and forgets what is older than five minutes", () => {
  const traffic = openTraffic();
  for (let n = 0; n < 90; n += 1) traffic.add({ ...ok, durationMs: 40 }, 0);
  for (let n = 0; n < 10; n += 1) traffic.add({ ...failed, durationMs: 700 }, 2 * minuteMs);
  traffic.add({ ...left, durationMs: 1 }, 2 * minuteMs);
  const total = { service: { "2xx": 90, "5xx": 10 }, countersign: { "4xx": 1 } };
  expect(traffic.total()).toEqual(total);
  const early = traffic.recent(3 * minuteMs);
  expect(early).toMatchObject({ seconds: 300, requests: 101, medianMs: 50, p95Ms: 1_000 });
  expect(early.perSecond).toBeCloseTo(101 / 180);
  expect(traffic.recent(6 * minuteMs)).toMatchObject({ requests: 11, medianMs: 1_000 });
  expect(traffic.recent(8 * minuteMs)).toMatchObject({ requests: 0, medianMs: undefined, p95Ms: undefined });
  expect(traffic.total()).toEqual(total);
});

it("divides by the time that has passed since the first request, and by a second at least", () => {
  const traffic = openTraffic();
  for (let n = 0; n < 20; n += 1) traffic.add({ ...ok, durationMs: 40 }, minuteMs + n * 50);
  expect(traffic.recent(minuteMs + 950).perSecond).toBe(20);
  expect(traffic.recent(minuteMs + 4_000).perSecond).toBe(5);
});

it("says what failed, the commonest first, and shows each step of ten seconds", () => {
  const traffic = openTraffic();
  const nowMs = 10 * minuteMs;
  traffic.add({ ...ok, durationMs: 1 }, nowMs - 290_000);
  traffic.add({ ...left, durationMs: 1 }, nowMs - 10_000);
  for (const status of [404, 404, 403]) traffic.add({ ...ok, status, durationMs: 1 }, nowMs);
  traffic.add({ by: "countersign", status: 502, outcome: "unknown", code: "upstream_reset", durationMs: 1 }, nowMs);
  // Cut after its head had been passed on.
  traffic.add({ ...ok, outcome: "unknown", code: "upstream_reset", durationMs: 1 }, nowMs);
  const { failures, steps } = traffic.recent(nowMs + 9_999);
  expect(failures).toEqual([
    { by: "service", what: "404", count: 2 },
    { by: "countersign", what: "499", count: 1 },
    { by: "service", what: "403", count: 1 },
    { by: "countersign", what: "upstream_reset", count: 1 },
    { by: "service", what: "upstream_reset", count: 1 },
  ]);
  expect(steps).toHaveLength(30);
  const none = { succeeded: 0, failed: 0, unknown: 0 };
  expect(steps.slice(1, -2)).toEqual(Array(27).fill(none));
  expect([steps[0], ...steps.slice(-2)]).toEqual([
    { ...none, succeeded: 1 },
    { ...none, failed: 1 },
    { ...none, failed: 3, unknown: 2 },
  ]);
});

it("knows no bound of what takes longer than the last one", () => {
  const traffic = openTraffic();
  traffic.add({ ...ok, durationMs: 60_000 }, 0);
  expect(traffic.recent(0).medianMs).toBeUndefined();
});

it("finds sites that have asked for a token and have none in any set, and no others", () => {
  const sites = darkNight.environments[0]?.sites ?? [];
  const [blue = expect.unreachable(), green = expect.unreachable()] = darkNight.credentials;
  const { failingSince: since, lastRequest, nextTryAt } = blue;
  const outage = { sites: ["S1000000001", "S1000000002"], since, lastRequest, nextTryAt };
  expect(findTokenOutage(sites, [blue, green])).toEqual(outage);
  // The second set was never tried.
  expect(findTokenOutage(sites, [blue, { ...green, failingSince: undefined }])).toEqual(outage);
  // Nobody has asked yet.
  const quiet = { failingSince: undefined, lastRequest: undefined };
  expect(
    findTokenOutage(sites, [
      { ...blue, ...quiet },
      { ...green, ...quiet },
    ]),
  ).toBeUndefined();
  const [fresh] = quietNight.credentials;
  if (fresh === undefined || fresh.token === "none") throw new Error("the night has a token");
  // A live token of one set serves, whatever becomes of its renewal.
  expect(findTokenOutage(sites, [blue, { ...green, token: fresh.token }])).toBeUndefined();
  const expired = { ...fresh.token, remainingMs: -1 };
  expect(findTokenOutage(sites, [{ ...blue, token: expired }, green])).toEqual(outage);
});
