/** The form in which the proxy's image holds the command: bundled, without packages and without the simulator. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startSimulator } from "../../src/simulator/simulator.ts";
import { ConfigFolder, canaries, tokenKey } from "../config/config-folder.ts";
import { audience, configuration, sites } from "../faults/configuration.ts";
import { bundle } from "../support/bundle.ts";
import { call, order } from "../support/call.ts";
import { startRedis } from "../support/real-redis.ts";
import { plainEnvironment, startProgram } from "../support/run-program.ts";

it("signs and authorises orders, with a shared token, and ends as it should", { timeout: 60_000 }, async () => {
  const simulator = await startSimulator({
    sites: [
      { identifier: sites.oauth, credentials: [{ clientId: "blue-id", clientSecret: canaries.blue, audience }] },
      { identifier: sites.hmac, keys: [{ identifier: "K2000000001", secret: canaries.key, isDefault: true }] },
    ],
  });
  onTestFinished(() => simulator.stop());
  const redis = await startRedis();
  const folder = new ConfigFolder();
  folder.write("token-key", tokenKey);
  const socketPath = join(folder.path, "app.sock");
  const yaml = configuration(simulator, socketPath, redis.url);
  const file = folder.write("countersign.yaml", yaml.replaceAll("DIR", folder.path));
  const main = bundle();
  const program = startProgram(process.execPath, [main, "serve", "--config", file], plainEnvironment());
  await program.line((line) => line.includes('"event":"started"'));
  for (const site of Object.values(sites)) {
    const { status } = await call("http://localhost", order, { socketPath, headers: { "Countersign-Site": site } });
    expect(status).toBe(200);
  }
  expect(await redis.command("KEYS", "countersign:*:token")).toHaveLength(1);
  const doctor = startProgram(process.execPath, [main, "doctor", "--config", file], plainEnvironment());
  await doctor.ended;
  expect(doctor.stdout()).toMatch(/^ok +redis /m);
  program.child.kill("SIGTERM");
  expect(await program.ended).toBe(0);
  expect(program.stderr()).toBe("");
});

it("holds no simulator, and the licence of every package in it", () => {
  const folder = dirname(bundle());
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  expect(texts.filter((text) => /^\/\/ dist\/(simulator\/|cli\/(demo|simulate))/m.test(text))).toEqual([]);
  const packages = new Set(
    texts.flatMap((text) => [...text.matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)/gm)].map(([, name]) => name)),
  );
  expect(packages.size).toBeGreaterThan(20);
  const { packages: locked } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const licences = readFileSync(join(folder, "third-party-licenses.txt"), "utf8");
  for (const name of packages) {
    expect(licences).toMatch(new RegExp(`^${name}$`, "m"));
    expect(locked[`node_modules/${name}`].dev).toBeUndefined();
  }
});
