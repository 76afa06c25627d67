// Usage: code-cache.mjs DIST. Bundles the program of `serve` into one script, and writes beside it the code that V8 compiles at a start.
// The program runs in one thread and with a fixed seed, so that the same inputs make the same bytes.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import v8 from "node:v8";
import { Script } from "node:vm";

const [dist, config] = process.argv.slice(2);
const file = join(dist, "bundled/serve-script.cjs");
if (config === undefined) {
  const { bundleScript } = await import("./bundle.mjs");
  await bundleScript("src/cli/serve.ts", file);
  await startAndStop();
} else {
  await record();
}

/** Starts the program in a process of its own, and ends it once it has started. */
async function startAndStop() {
  const folder = mkdtempSync(join(tmpdir(), "countersign-"));
  const path = join(folder, "countersign.json");
  const key = join(folder, "key");
  writeFileSync(key, "0123456789abcdef0123456789abcdef", { mode: 0o600 });
  writeFileSync(path, JSON.stringify(configWith(key)));
  const options = ["--predictable", "--random-seed=1", fileURLToPath(import.meta.url), dist, path];
  const limits = { timeout: 60_000, killSignal: "SIGKILL" };
  const child = spawn(process.execPath, options, { stdio: ["ignore", "pipe", "inherit"], ...limits });
  const closed = once(child, "close");
  for await (const line of createInterface({ input: child.stdout })) {
    if (JSON.parse(line).event === "started") child.kill("SIGTERM");
  }
  const [status] = await closed;
  rmSync(folder, { recursive: true });
  process.exitCode = status ?? 1;
}

function configWith(key) {
  const site = { keys: [{ identifier: "K1000000001", secret: { file: key } }] };
  const environment = { baseUrl: "https://localhost/json-api", operations: ["create_order"] };
  const bind = "127.0.0.1:0";
  return {
    listeners: [{ bind, environment: "production" }],
    admin: { bind },
    status: { bind },
    environments: { production: { ...environment, sites: { S1000000001: site } } },
  };
}

/** Runs the program, and at its end writes the code that V8 has compiled. */
async function record() {
  // If the program changed V8's options here, the cache would not fit the next start.
  v8.setFlagsFromString = () => {};
  const script = new Script(readFileSync(file, "utf8"), { filename: file });
  const module = { exports: {} };
  script.runInThisContext()(createRequire(import.meta.url), module);
  const signals = { onStop: (listener) => process.on("SIGTERM", listener), onHangUp() {} };
  process.exitCode = await module.exports.run(["serve", "--config", config], signals);
  if (process.exitCode === 0) writeFileSync(`${file}.cache`, script.createCachedData());
}
