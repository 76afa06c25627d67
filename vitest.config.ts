import { defineConfig } from "vitest/config";

/** Load, and figures in milliseconds: these files want the machine for themselves, one at a time. */
const loads = [
  "test/load/**/*.test.ts",
  "test/bench/**/*.test.ts",
  "test/redis/cures-a-thousand-401s-with-one-token.test.ts",
  "test/redis/is-not-held-up-by-a-hung-redis.test.ts",
  "test/redis/keeps-serving-when-redis-dies.test.ts",
  "test/redis/refreshes-once-for-all-replicas.test.ts",
  "test/reload/takes-up-changes-under-load.test.ts",
];
/** Long accounts that wait most of the time: two files at once. */
const accounts = [
  "test/demo/**/*.test.ts",
  "test/docs/operations-doc.test.ts",
  "test/faults/**/*.test.ts",
  "test/process/agrees-with-its-caller-though-stopped.test.ts",
  "test/redis/is-back-at-once-after-a-kill.test.ts",
  "test/redis/keeps-401-for-ever-from-costing-tokens.test.ts",
  "test/soak/soak.test.ts",
  "test/wire/verified-by-another-program.test.ts",
];
/** Chart, images, alerts: with tools that are built or installed first. Two files at once: images wait for the engine. */
const platform = ["test/kubernetes/**/*.test.ts", "test/image/**/*.test.ts", "test/prometheus/**/*.test.ts"];
/** Many processes that wait most of the time: three files at once. */
const fleets = ["test/contract/redis*.test.ts", "test/redis/**/*.test.ts", "test/wire/**/*.test.ts"];

export default defineConfig({
  test: {
    // For what hangs, on the slowest of machines.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: ["test/leaks/watch.ts", "test/support/build-once.ts", "test/support/redis-once.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "quick",
          include: ["test/**/*.test.ts"],
          exclude: [...fleets, ...loads, ...accounts, ...platform],
          // Vitest leaves one processor to itself, which of two is half; and these wait more than they compute.
          maxWorkers: 3,
          // No module has state that a test could leave to the next one, and loading all of them anew takes half of the time.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "fleets",
          include: fleets,
          exclude: [...loads, ...accounts],
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: "accounts", include: accounts, maxWorkers: 2, sequence: { groupOrder: 2 } },
      },
      {
        extends: true,
        test: { name: "loads", include: loads, fileParallelism: false, sequence: { groupOrder: 3 } },
      },
      {
        extends: true,
        test: { name: "platform", include: platform, maxWorkers: 2, sequence: { groupOrder: 4 } },
      },
    ],
  },
});
