import { defineConfig } from "vitest/config";
import { redisIsMissing, redisTests } from "./testkit/left-out.ts";
import { LongestFirst } from "./testkit/longest-first.ts";

/** Pure logic, on clocks that the tests own: for watching. */
const unit = [
  "test/unit/**/*.test.ts",
  "test/oauth/**/*.test.ts",
  "test/callbacks/{parameters,verify,replay-guard}.test.ts",
  "test/config/**/*.test.ts",
  "test/contract/memory.test.ts",
  "test/fuzz/judge.test.ts",
  "test/soak/{judges,verdict}.test.ts",
];
/** What several replicas promise above all, one file at a time. */
const claims = [
  "test/redis/cures-a-thousand-401s-with-one-token.test.ts",
  "test/redis/goes-on-when-the-lock-holder-dies.test.ts",
  "test/redis/refreshes-once-for-all-replicas.test.ts",
];
/** Load, and figures in milliseconds: these files want the machine for themselves, one at a time. */
const loads = [
  "test/load/**/*.test.ts",
  "test/bench/**/*.test.ts",
  "test/process/listens-soon-after-its-start.test.ts",
  "test/process/outlives-few-descriptors.test.ts",
  "test/redis/is-not-held-up-by-a-hung-redis.test.ts",
  "test/redis/keeps-serving-when-redis-dies.test.ts",
  "test/redis/replaces-a-dead-token-beside-bad-orders.test.ts",
  "test/reload/takes-up-changes-under-load.test.ts",
];
/** Long tests that wait most of the time: four files at once. */
const accounts = [
  "test/clients/outwait-countersign.test.ts",
  "test/demo/**/*.test.ts",
  "test/docs/operations-doc.test.ts",
  "test/faults/**/*.test.ts",
  "test/load/outlives-idle-connections.test.ts",
  "test/process/agrees-with-its-caller-though-stopped.test.ts",
  "test/redis/is-back-at-once-after-a-kill.test.ts",
  "test/redis/keeps-401-for-ever-from-costing-tokens.test.ts",
  "test/reload/serves-with-the-old-token-until-the-new-secret-has-one.test.ts",
  "test/soak/soak.test.ts",
  "test/wire/verified-by-another-program.test.ts",
];
/** Beside the main path: clients in other languages, the demo, manifests, pages in a browser. */
const beside = [
  "test/cli/{builds,demo,inject}*.test.ts",
  "test/clients/**/*.test.ts",
  "test/observability/grows-no-series-by-what-callers-send.test.ts",
  "test/observability/status-page.test.ts",
];
/** Chart, images, alerts: with tools that are built or installed first. Two files at once: images wait for the engine. */
const platform = ["test/kubernetes/**/*.test.ts", "test/image/**/*.test.ts", "test/prometheus/**/*.test.ts"];
/** On a real cluster, and in no project: `npm run test:platform -- --cluster`. */
const cluster = "test/cluster/**/*.test.ts";
/** Many processes that wait most of the time: four files at once. */
const fleets = ["test/contract/redis*.test.ts", "test/redis/**/*.test.ts", "test/wire/**/*.test.ts"];

/** Without a redis-server its tests are left out, and the last line says so. */
const unavailable = redisIsMissing() ? redisTests() : [];

/** A group of test files. Groups run one after the other, in the order of this list; each file belongs to one. */
function group(name: string, order: number, settings: object) {
  return { extends: true as const, test: { name, sequence: { groupOrder: order }, ...settings } };
}

export default defineConfig({
  // The simulator's package imports countersign by its name: here its sources.
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source"] } },
  test: {
    sequence: { sequencer: LongestFirst },
    // For what hangs, on the slowest of machines.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: [
      "testkit/left-out.ts",
      "test/leaks/watch.ts",
      "testkit/replays.ts",
      "testkit/build-once.ts",
      "testkit/redis-common.ts",
    ],
    projects: [
      // No module has state that a test could leave to the next one, and loading all of them anew takes half of the time.
      group("unit", 0, { include: unit, isolate: false }),
      group("quick", 1, {
        include: ["test/**/*.test.ts"],
        exclude: [
          ...unit,
          ...claims,
          ...fleets,
          ...loads,
          ...accounts,
          ...beside,
          ...platform,
          cluster,
          ...unavailable,
        ],
        // Vitest leaves one processor to itself, which of two is half; and these wait more than they compute.
        maxWorkers: 3,
        isolate: false,
      }),
      group("claims", 2, { include: claims, exclude: unavailable, fileParallelism: false }),
      group("beside", 3, { include: beside, exclude: [...unavailable, ...accounts], maxWorkers: 3, isolate: false }),
      group("fleets", 4, { include: fleets, exclude: [...claims, ...loads, ...accounts], maxWorkers: 4 }),
      group("accounts", 5, { include: accounts, maxWorkers: 4 }),
      group("loads", 6, { include: loads, exclude: accounts, fileParallelism: false }),
      group("platform", 7, { include: platform, maxWorkers: 2 }),
    ],
  },
});
