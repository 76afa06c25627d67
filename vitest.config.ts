import { defineConfig } from "vitest/config";

/** Many processes and figures in milliseconds: these files want the machine for themselves, one at a time. */
const fleets = [
  "test/contract/redis*.test.ts",
  "test/redis/**/*.test.ts",
  "test/demo/**/*.test.ts",
  "test/bench/**/*.test.ts",
];

export default defineConfig({
  test: {
    testTimeout: 20_000,
    hookTimeout: 30_000,
    globalSetup: ["test/support/build-once.ts", "test/support/redis-once.ts"],
    projects: [
      {
        extends: true,
        test: { name: "quick", include: ["test/**/*.test.ts"], exclude: fleets, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: { name: "fleets", include: fleets, fileParallelism: false, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
