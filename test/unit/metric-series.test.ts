/** What is shown of prom-client's counters and histograms: sums over details and sites, and series at 0. */
import { Counter, Histogram, Registry } from "prom-client";
import { expect, it } from "vitest";
import { createCounter, createHistogram, onceForEach, writeExposition } from "../../src/adapters/stats/series.ts";

const buckets = [0.005, 0.1, 1, 30];
const of = { name: "countersign_test_seconds", help: "Of a test.", labelNames: ["environment", "operation"] as const };

it("a histogram shows a series at 0 from its start on, and starting it again changes nothing", async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const held = createHistogram({ ...of, registry: ours }, buckets);
  const own = new Histogram({ ...of, buckets, registers: [theirs] });
  const labels = { environment: "a", operation: 'quoted "x"' };
  held.start(labels);
  own.zero(labels);
  expect(await written(ours)).toEqual(await written(theirs));
  held.observe(labels, 0.1);
  own.observe(labels, 0.1);
  held.start(labels);
  expect(await written(ours)).toEqual(await written(theirs));
});

it("a counter shows the sum of the series that differ in their details", async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const named = { ...of, name: "countersign_tests_total" };
  const held = createCounter({ ...named, registry: ours }, ["cause"]);
  const own = new Counter({ ...named, registers: [theirs] });
  const labels = { environment: "a", operation: "x" };
  const [one, other] = [held.series(labels), held.series({ ...labels, cause: "rain" })];
  const quiet = { environment: "a", operation: "never" };
  held.start(quiet);
  own.inc(quiet, 0);
  for (let round = 0; round < 3; round++) {
    one.inc(round);
    other.inc(round);
    held.inc(labels, 5);
    own.inc(labels, 7);
    expect((await written(ours)).map(sorted)).toEqual((await written(theirs)).map(sorted));
  }
  expect(await held.counted()).toEqual([
    { labels, count: 18, lastMs: 2 },
    { labels: { ...labels, cause: "rain" }, count: 3, lastMs: 2 },
  ]);
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

/** The order of series has no meaning. */
function sorted(text: string): string {
  return text.split("\n").sort().join("\n");
}
