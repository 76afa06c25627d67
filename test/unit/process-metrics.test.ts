/** The event loop's lag is sampled ten times a second, so that an idle process sleeps, but has the values of samples every 10 ms. */
import { setTimeout as sleep } from "node:timers/promises";
import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { registerProcessMetrics } from "../../src/adapters/stats/gauges.ts";

it("the event loop's lag is small in an idle loop, and the length of a stall", async () => {
  const registry = new Registry();
  registerProcessMetrics(registry);
  await sleep(1_000);
  const p50 = await read(registry, "p50");
  expect(p50).toBeGreaterThan(0.005);
  expect(p50).toBeLessThan(0.06);
  // Long enough to delay a sample, whenever the stall begins.
  await sleep(250);
  const untilMs = performance.now() + 400;
  while (performance.now() < untilMs);
  await sleep(150);
  expect(await read(registry, "max")).toBeGreaterThan(0.2);
});

it("scrapes without a new sample keep the former values", async () => {
  const registry = new Registry();
  registerProcessMetrics(registry);
  const names = ["min", "max", "mean", "stddev", "p50", "p90", "p99"];
  const readAll = () => Promise.all(names.map((name) => read(registry, name)));
  // Each scrape resets the measurement, so an early scrape has no sample yet.
  await expect.poll(async () => (await readAll())[0], { interval: 500 }).toBeGreaterThan(0);
  for (let scrape = 0; scrape < 20; scrape += 1) {
    for (const seconds of await readAll()) {
      expect(seconds).toBeGreaterThanOrEqual(0);
      expect(seconds).toBeLessThan(10);
    }
  }
});

async function read(registry: Registry, name: string): Promise<number> {
  const text = await registry.metrics();
  return Number(new RegExp(`^nodejs_eventloop_lag_${name}_seconds (.*)$`, "m").exec(text)?.[1]);
}
