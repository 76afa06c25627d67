/** A gateway of many sites has few series, and a scrape delays no request. */
import { expect, it } from "vitest";
import { createMetrics } from "../../src/adapters/stats/metrics.ts";
import { writeExposition } from "../../src/adapters/stats/series.ts";
import { startAtZero } from "../../src/adapters/stats/start-at-zero.ts";
import type { Site, TokenSettings } from "../../src/model/environment.ts";
import { Secret } from "../../src/model/secret.ts";
import { call, order } from "../../testkit/call.ts";
import { environmentOf, siteOf } from "../../testkit/environment.ts";
import { readExposition, scrape } from "../../testkit/exposition.ts";
import { operations, siteAt } from "../../testkit/many-sites.ts";
import { audience, stage } from "../../testkit/stage.ts";
import { configuredOf, statsSource } from "../../testkit/stats-source.ts";

const secretOf = (index: number) => `a secret of its own, ${index}`;

const manySites = (count: number) =>
  new Map(Array.from({ length: count }, (_, index) => [siteAt(index), oauthSiteAt(index)]));

it("exposes at most 3,000 series for 100 sites, each of which has called 5 operations", async () => {
  const count = 100;
  const simulated = Array.from({ length: count }, (_, index) => {
    const set = { clientId: `client-${index}`, clientSecret: secretOf(index), audience };
    return { identifier: siteAt(index), credentials: [set] };
  });
  const { url, adminUrl } = await stage({
    simulator: { sites: simulated },
    environment: { operations: new Set(operations), sites: manySites(count), defaultSite: undefined },
  });
  for (let index = 0; index < count; index += 1) {
    const headers = { "Countersign-Site": siteAt(index) };
    const calls = operations.map((operation) => call(url, order, { path: `/${operation}`, headers }));
    for (const { status } of await Promise.all(calls)) expect(status).toBe(200);
  }
  const { series, sum, value } = await scrape(adminUrl);
  expect(sum("countersign_requests_total", { status: "200" })).toBe(count * operations.length);
  expect(value("countersign_token_wait_duration_seconds_count", { environment: "sandbox" })).toBe(500);
  process.stdout.write(`series of ${count} sites that have called ${operations.length} operations: ${series.size}\n`);
  expect(series.size).toBeLessThanOrEqual(3_000);
});

it("exposes at most 10,000 series for 1,000 sites with their tokens, in 20 ms at a time and 50 ms in all", async () => {
  const count = 1_000;
  const sites = Array.from({ length: count }, (_, index) => oauthSiteAt(index));
  const environment = environmentOf(sites, { operations: new Set(operations) });
  const configured = configuredOf({ environments: [environment], redisNodes: ["cache"] });
  const token = { lifetimeMs: 3_600_000, expiresAtMs: 4_000_000, issuedHere: true, reason: "start" } as const;
  const source = statsSource({
    configured: () => configured,
    credentials: () =>
      [...environment.sites.keys()].map((site) => {
        const state = { token, isActive: true, lastUsedMs: 2_000_000.5, backoffUntilMs: undefined, isInOutage: false };
        return { environment: "sandbox", credential: `${site}/blue`, ...state };
      }),
  });
  const metrics = createMetrics(source);
  startAtZero(metrics, configured);
  const costs: { longestMs: number; cpuMs: number }[] = [];
  let text = "";
  for (let time = 0; time < 9; time += 1) {
    const beforeMs = processorMs();
    const turns = watchTurns();
    text = await writeExposition(metrics.registry, "text");
    costs.push({ longestMs: turns.end(), cpuMs: processorMs() - beforeMs });
  }
  const { series } = readExposition(text);
  // Other processes can only add time, so the least counts.
  const longestMs = Math.min(...costs.map((cost) => cost.longestMs));
  const cpuMs = Math.min(...costs.map((cost) => cost.cpuMs));
  const figures = `${longestMs.toFixed(1)} ms at a time, ${cpuMs.toFixed(0)} ms of processor time`;
  process.stdout.write(`${series.size} series of ${count} sites: ${figures}, ${text.length} bytes\n`);
  expect(series.size).toBeLessThanOrEqual(10_000);
  expect(longestMs).toBeLessThan(20);
  expect(cpuMs).toBeLessThan(50);
});

it("exposes one series for all sites if sites are not to be named, with the most urgent bridge and assertion", async () => {
  const sites = Array.from({ length: 1_000 }, (_, index) => {
    const token = { clientAuth: { method: "assertion", file: `${index}` } } as TokenSettings;
    return oauthSiteAt(index, token, { bridge: "hmac" });
  });
  const configured = configuredOf({ environments: [environmentOf(sites)], namesSites: false });
  const state = { token: undefined, isActive: true, lastUsedMs: undefined, backoffUntilMs: undefined };
  const metrics = createMetrics(
    statsSource({
      configured: () => configured,
      credentials: () =>
        sites.map(({ identifier }, index) => ({
          environment: "sandbox",
          credential: `${identifier}/blue`,
          ...state,
          isInOutage: index === 500,
        })),
      readAssertion: async (file) => ({ text: "a.b.c", expiresAtMs: 3_000_000 - Number(file) * 1_000 }),
    }),
  );
  const { families } = readExposition(await writeExposition(metrics.registry, "text"));
  const shown = (name: string) => families.get(name)?.samples.map(({ labels, value }) => [labels, value]);
  expect(shown("countersign_bridge_active")).toEqual([[{ environment: "sandbox", site: "all" }, 1]]);
  expect(shown("countersign_assertion_expiry_timestamp_seconds")).toEqual([
    [{ environment: "sandbox", credential: "all" }, 2_001],
  ]);
});

/** Measures the processor time of the event loop's longest turn until `end`: a busy machine adds nothing to it. */
function watchTurns(): { end(): number } {
  let longestMs = 0;
  let lastMs = processorMs();
  const look = () => {
    const nowMs = processorMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const tick = () => {
    look();
    next = setImmediate(tick);
  };
  let next = setImmediate(tick);
  return {
    end() {
      look();
      clearImmediate(next);
      return longestMs;
    },
  };
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function oauthSiteAt(index: number, token?: TokenSettings, more: Partial<Site> = {}): Site {
  const identifier = siteAt(index);
  const set = { label: `${identifier}/blue`, name: "blue", clientId: `client-${index}`, audience, token };
  const credentials = { owner: identifier, sets: [{ ...set, clientSecret: new Secret(secretOf(index)) }] } as const;
  return siteOf(identifier, { credentials, ...more });
}
