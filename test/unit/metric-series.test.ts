/** Series counted without prom-client's hashing are written exactly as prom-client writes its own. */
import { Counter, Histogram, Registry } from "prom-client";
import { expect, it } from "vitest";
import { createCounter, createHistogram, onceForEach, writeExposition } from "../../src/adapters/stats/series.ts";
import { drawSeed, seededRandom } from "../../testkit/seeded-random.ts";

const buckets = [0.005, 0.1, 1, 30];
const of = { name: "countersign_test_seconds", help: "Of a test.", labelNames: ["environment", "operation"] as const };

it("a histogram has the buckets, the sum and the count of prom-client's own, bounds included", async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const held = createHistogram({ ...of, registry: ours }, buckets);
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

it("a counter has the values of prom-client's own, whether counted by a held series or by its labels", async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const named = { ...of, name: "countersign_tests_total" };
  const held = createCounter({ ...named, registry: ours }, ["cause"]);
  const own = new Counter({ ...named, registers: [theirs] });
  const labels = { environment: "a", operation: "x" };
  const [one, other] = [held.series(labels), held.series({ ...labels, cause: "rain" })];
  expect(held.series({ ...labels, cause: "rain" })).toBe(other);
  const quiet = { environment: "a", operation: "never" };
  held.series(quiet);
  for (const each of [labels, quiet]) own.inc(each, 0);
  for (let round = 0; round < 3; round++) {
    one.inc();
    other.inc();
    held.inc(labels, 5);
    own.inc(labels, 7);
    expect(await written(ours)).toEqual(await written(theirs));
  }
});

it("names sites, or adds them up, as the active configuration says", async () => {
  const registry = new Registry();
  let namesSites = false;
  const labelNames = ["environment", "site"] as const;
  const counter = createCounter({ ...of, labelNames, registry }, [], () => namesSites);
  const shown = async () => (await registry.metrics()).match(/site="\w+"} \d/g);
  const labels = { environment: "a", site: "S1" };
  counter.inc(labels);
  expect(await shown()).toEqual(['site="all"} 1']);
  namesSites = true;
  counter.inc(labels);
  counter.inc({ environment: "a", site: "S2" });
  expect(await shown()).toEqual(['site="S1"} 2', 'site="S2"} 1']);
  namesSites = false;
  expect(await shown()).toEqual(['site="all"} 3']);
});

it("creates a value once for each combination of labels", () => {
  let made = 0;
  const find = onceForEach((one: string, other: number) => ({ one, other, made: ++made }));
  const first = find("a", 1);
  expect(find("a", 1)).toBe(first);
  expect([find("a", 2), find("b", 1), find("a", 1)].map((found) => found.made)).toEqual([2, 3, 1]);
});

async function written(registry: Registry): Promise<readonly string[]> {
  return [
    await registry.metrics(),
    await writeExposition(registry, "text"),
    await writeExposition(registry, "openmetrics"),
  ];
}
