import { defineConfig } from "vitest/config";
import { redisIsMissing, redisTests } from "./testkit/left-out.ts";
import { LongestFirst } from "./testkit/longest-first.ts";

/** What several replicas promise above all: one file at a time. */
const replicas = "test/promises/replicas/**/*.test.ts";
/** Beside the main path: commands that take their time, and the status page in a browser. */
const beside = [
  "test/promises/cli/{builds,demo,inject}*.test.ts",
  "test/promises/observability/{grows-no-series-by-what-callers-send,status-page}.test.ts",
];
/** They wait most of the time, as those of test/faults do. */
const waiting = [
  "test/clients/outwait-countersign.test.ts",
  "test/docs/operations-doc.test.ts",
  "test/simulator/demo/**/*.test.ts",
];
/** On a real cluster, and in no project: `npm run test:platform -- --cluster`. */
const cluster = "test/platform/cluster/**/*.test.ts";

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
      "testkit/leaks/watch.ts",
      "testkit/replays.ts",
      "testkit/build-once.ts",
      "testkit/redis-common.ts",
    ],
    projects: [
      // Pure logic. No module has state that a test could leave to the next one, and loading all of them anew takes half of the time.
      group("unit", 0, { include: ["test/unit/**/*.test.ts"], isolate: false }),
      group("promises", 1, {
        include: ["test/{promises,docs,fuzz,simulator}/**/*.test.ts"],
        exclude: [replicas, ...beside, ...waiting, ...unavailable],
        // Vitest leaves one processor to itself, which of two is half; and these wait more than they compute.
        maxWorkers: 3,
        isolate: false,
      }),
      group("replicas", 2, { include: [replicas], exclude: unavailable, fileParallelism: false }),
      group("clients", 3, {
        include: ["test/clients/**/*.test.ts", ...beside],
        exclude: [...waiting, ...unavailable],
        maxWorkers: 3,
        isolate: false,
      }),
      // Many processes that wait most of the time: four files at once.
      group("fleet", 4, { include: ["test/fleet/**/*.test.ts"], maxWorkers: 4 }),
      group("faults", 5, { include: ["test/faults/**/*.test.ts", ...waiting], maxWorkers: 4 }),
      // These want the machine for themselves, one file at a time.
      group("load", 6, { include: ["test/load/**/*.test.ts"], fileParallelism: false }),
      // Tools are built or installed first. Two files at once: images wait for the engine.
      group("platform", 7, { include: ["test/platform/**/*.test.ts"], exclude: [cluster], maxWorkers: 2 }),
    ],
  },
});
