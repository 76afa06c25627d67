import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    globalSetup: ["test/support/build-once.ts", "test/support/redis-once.ts"],
  },
});
