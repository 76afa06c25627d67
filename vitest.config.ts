import { defineConfig } from "vitest/config";
import { isLeftOut } from "./testkit/left-out.ts";
import { LongestFirst } from "./testkit/longest-first.ts";

/** They run in the group `processes`: commands and pages that are slow or mostly wait, tests that measure how fast Redis answers, and one of memory. */
const beside = [
  "test/load/holds-little-for-each-connection.redis.test.ts",
  "test/docs/practise.test.ts",
  "test/promises/cli/{builds,demo}*.test.ts",
  "test/promises/{cli/doctor*,reload/follows-redis}.redis.test.ts",
  "test/promises/observability/{grows-no-series-by-what-callers-send,status-page}.test.ts",
  "test/promises/process/outlives-the-reader-of-its-log.test.ts",
];
/** Tests on a real cluster, in no group: `npm run test:platform -- --cluster`. */
const cluster = "test/platform/cluster/**/*.test.ts";

/** Tests that start a Redis have `redis` in their path. Without redis-server they are left out, and the last line of the run says so. */
const unavailable = isLeftOut("redis-server") ? ["test/**/*.redis.test.ts", "test/**/redis/**"] : [];

/** A group of test files, which is a project of Vitest. Groups of one order run together, one order after the other; each file belongs to one group. */
function group(
  name: string,
  order: number,
  { exclude = [], ...settings }: { exclude?: string[]; [setting: string]: unknown },
) {
  const test = { name, sequence: { groupOrder: order }, ...settings, exclude: [...exclude, ...unavailable] };
  return { extends: true as const, test };
}

export default defineConfig({
  // The simulator's package imports countersign by its name: here its sources.
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source"] } },
  test: {
    sequence: { sequencer: LongestFirst },
    // Long: these only end tests that hang, on the slowest machines.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Long: on a busy machine events come late.
    expect: { poll: { timeout: 30_000 } },
    globalSetup: [
      "testkit/left-out.ts",
      "testkit/leaks/watch.ts",
      "testkit/replays.ts",
      "testkit/build-once.ts",
      "testkit/redis-common.ts",
    ],
    projects: [
      // Runs in `npm test`, and in `npm run test:unit` while you write. Pure logic: no module has state that a test could leave to
      // the next one, and loading all modules anew takes half of the time.
      group("unit", 0, { include: ["test/unit/**/*.test.ts"], maxWorkers: 6, isolate: false }),
      // Runs in `npm test`. These tests wait more than they compute, and on two processors Vitest would run one file at a time.
      group("promises", 0, {
        include: ["test/{promises,docs,fuzz,simulator}/**/*.test.ts"],
        exclude: beside,
        maxWorkers: 6,
        isolate: false,
      }),
      // Runs in `npm run test:all` and in .ci/run, after `npm test`: many processes that mostly wait.
      group("processes", 1, { include: ["test/{clients,faults,fleet}/**/*.test.ts", ...beside], maxWorkers: 5 }),
      // Runs in `npm run test:all` and in .ci/run, last: these tests need the machine for themselves, one file at a time.
      group("load", 2, { include: ["test/load/**/*.test.ts"], exclude: beside, fileParallelism: false }),
      // Runs in `npm run test:platform` and `npm run test:real`, whose tools are built or installed first. Two files at once: tests
      // of images mostly wait for the engine, and a program of others is several processes.
      group("tools", 3, { include: ["test/{platform,real}/**/*.test.ts"], exclude: [cluster], maxWorkers: 2 }),
    ],
  },
});
