/** The event loop's lag is sampled ten times a second, so that an idle process sleeps, and reads as with samples every 10 ms. */
import { setTimeout as sleep } from "node:timers/promises";
import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { registerProcessMetrics } from "../../src/adapters/stats/gauges.ts";

async function read(registry: Registry, name: string): Promise<number> {
  const text = await registry.metrics();
  return Number(new RegExp(`^nodejs_eventloop_lag_${name}_seconds (.*)$`, "m").exec(text)?.[1]);
}

it("shows little lag of an idle loop, and the length of a stall", async () => {
  const registry = new Registry();
  registerProcessMetrics(registry);
  await sleep(1_000);
  const p50 = await read(registry, "p50");
  expect(p50).toBeGreaterThan(0.005);
  expect(p50).toBeLessThan(0.06);
  // Long enough to hold up a sample, whenever it begins.
  await sleep(250);
  const untilMs = performance.now() + 400;
  while (performance.now() < untilMs);
  await sleep(150);
  expect(await read(registry, "max")).toBeGreaterThan(0.2);
});

it("shows the same to a scrape before the next sample", async () => {
  const registry = new Registry();
  registerProcessMetrics(registry);
  const names = ["min", "max", "mean", "stddev", "p50", "p90", "p99"];
  const readAll = () => Promise.all(names.map((name) => read(registry, name)));
  // Each scrape begins anew, so one that comes before a sample has none.
  await expect.poll(async () => (await readAll())[0], { interval: 500 }).toBeGreaterThan(0);
  for (let scrape = 0; scrape < 20; scrape += 1) {
    for (const seconds of await readAll()) {
      expect(seconds).toBeGreaterThanOrEqual(0);
      expect(seconds).toBeLessThan(10);
    }
  }
});
