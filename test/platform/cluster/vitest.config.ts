import { defineConfig } from "vitest/config";

// Run by `npm run test:platform -- --cluster`, inside of the node's namespaces (scripts/cluster/run.sh).
export default defineConfig({
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source"] } },
  test: {
    include: ["test/platform/cluster/**/*.test.ts"],
    globalSetup: ["test/platform/cluster/surroundings.ts"],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
