/** Series that are counted without prom-client's hashing are written as its own are. */
import { Counter, Histogram, type Metric, Registry } from "prom-client";
import { expect, it } from "vitest";
import { writeExposition } from "../../src/adapters/prometheus/exposition.ts";
import { onceForEach, SeriesCounter, SeriesHistogram } from "../../src/adapters/prometheus/series.ts";
import { drawSeed, seededRandom } from "../../testkit/seeded-random.ts";

const buckets = [0.005, 0.1, 1, 30];
const of = { name: "countersign_test_seconds", help: "Of a test.", labelNames: ["environment", "operation"] as const };

async function written(registry: Registry): Promise<readonly string[]> {
  return [
    await registry.metrics(),
    await writeExposition(registry, "text"),
    await writeExposition(registry, "openmetrics"),
  ];
}

it("has the buckets, the sum and the count of prom-client's own histogram, bounds included", async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const held = new SeriesHistogram({ ...of, buckets });
  ours.registerMetric(held as unknown as Metric);
  const own = new Histogram({ ...of, buckets, registers: [theirs] });
  const series = [
    { environment: "a", operation: 'quoted "x"' },
    { environment: "b", operation: "none" },
  ];
  for (const labels of [...series, { environment: "zero", operation: "none" }]) {
    held.series(labels);
    own.zero(labels);
  }
  const random = seededRandom(drawSeed("histogram"));
  for (let n = 0; n < 2_000; n++) {
    const labels = series[n % 2] ?? { environment: "", operation: "" };
    const value = [0, 0.005, 0.1, 1, 30, 30.001, random(), random() * 40][Math.floor(random() * 8)] ?? 0;
    held.series(labels).observe(value);
    own.observe(labels, value);
    if (n % 500 === 0) expect(await written(ours)).toEqual(await written(theirs));
  }
  expect(await written(ours)).toEqual(await written(theirs));
});

it("adds what is counted in a held series to the counter, once, and shows no series that never counted", async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const held = new SeriesCounter({ ...of, name: "countersign_tests_total", registers: [ours] });
  const own = new Counter({ ...of, name: "countersign_tests_total", registers: [theirs] });
  const labels = { environment: "a", operation: "x" };
  const [one, other] = [held.series(labels), held.series(labels)];
  held.series({ environment: "a", operation: "never" });
  for (let round = 0; round < 3; round++) {
    one.inc();
    other.inc();
    held.inc(labels, 5);
    own.inc(labels, 7);
    expect(await written(ours)).toEqual(await written(theirs));
  }
});

it("makes something once for each combination of values", () => {
  let made = 0;
  const find = onceForEach((one: string, other: number) => ({ one, other, made: ++made }));
  const first = find("a", 1);
  expect(find("a", 1)).toBe(first);
  expect([find("a", 2), find("b", 1), find("a", 1)].map((found) => found.made)).toEqual([2, 3, 1]);
});
