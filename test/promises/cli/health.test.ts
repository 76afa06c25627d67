/** `countersign health`, which a container's health check runs every 30 s. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readAdmin } from "../../../src/cli/health.ts";
import { watchScripts } from "../../../testkit/loaded-scripts.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { plainEnvironment, runCommand, startServe } from "../../../testkit/run-program.ts";
import { configureDoctor, openFolder } from "./doctor-runs.ts";

const health = (file: string, ...args: readonly string[]) =>
  runCommand(["health", ...args], plainEnvironment({ COUNTERSIGN_CONFIG: file }));

it("says yes if serve is alive and ready, even if its file has become invalid since the start", async () => {
  const { file, folder, place } = await stage();
  expect(await health(file)).toEqual({ exitCode: 0, stdout: `/livez at ${place}: 200 ok\n`, stderr: "" });
  expect(await health(file, "--ready")).toEqual({ exitCode: 0, stdout: `/readyz at ${place}: 200 ok\n`, stderr: "" });
  folder.write("countersign.yaml", readFileSync(file, "utf8").replace("operations", "operation"));
  expect((await health(file)).exitCode).toBe(0);
});

it("says no if serve is not ready, and why", async () => {
  const { file, simulator } = await configureDoctor({ more: "readiness: token" });
  await simulator.stopLogin();
  await startServe(file);
  expect((await health(file)).exitCode).toBe(0);
  const { exitCode, stdout, stderr } = await health(file, "--ready");
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toMatch(/^\/readyz at 127\.0\.0\.1:\d+: 503 .*token.*\n$/);
});

it.each([
  { what: "nothing listens", answer: undefined, says: "ECONNREFUSED" },
  { what: "no answer comes", answer: "", says: "ETIMEDOUT" },
])("says no if $what", async ({ answer, says }) => {
  const { folder, adminPort } = await openFolder();
  const upstream = await startRawUpstream({ answer: (_, socket) => void (answer && socket.write(answer)) });
  const port = answer === undefined ? adminPort : upstream.port;
  const file = folder.write("countersign.yaml", `admin: { bind: "127.0.0.1:${port}" }\n`);
  const told = `/livez at 127.0.0.1:${port}: no answer (${says}). Does serve run with this configuration?\n`;
  expect(await health(file)).toEqual({ exitCode: 1, stdout: "", stderr: told });
});

it("asks at the address of --admin, and then needs no configuration", async () => {
  const { folder, place } = await stage();
  const nowhere = join(folder.path, "nowhere.yaml");
  const said = { exitCode: 0, stdout: `/readyz at ${place}: 200 ok\n`, stderr: "" };
  expect(await health(nowhere, "--ready", "--admin", place)).toEqual(said);
  const [, port] = place.split(":");
  const byName = await health(nowhere, "--ready", "--admin", `localhost:${port}`);
  expect(byName).toEqual({ ...said, stdout: `/readyz at localhost:${port}: 200 ok\n` });
  const wrong = await health(nowhere, "--admin", "localhost");
  expect({ ...wrong, stderr: "" }).toEqual({ exitCode: 2, stdout: "", stderr: "" });
  expect(wrong.stderr).toContain("Please add a port, like localhost:7411.");
});

it.each([
  { yaml: "admin: {", says: ": admin.bind cannot be read: correct the YAML." },
  { yaml: "listeners: []", says: ': admin.bind cannot be read: write admin: { bind: ":7412" }.' },
  { yaml: "admin: { bind: here }", says: ": admin.bind cannot be read: add a port, like here:7411." },
  { yaml: 'admin: { bind: ":0" }', says: ": admin.bind takes any free port, so it cannot be asked: name one." },
  { yaml: undefined, says: " cannot be read (ENOENT): give the path of serve's configuration.\n" },
])("refuses a configuration without a usable admin.bind: $yaml", async ({ yaml, says }) => {
  const { folder } = await openFolder();
  const file = join(folder.path, "countersign.yaml");
  if (yaml !== undefined) folder.write("countersign.yaml", yaml);
  const told = expect.stringContaining(`${file}${says}`);
  expect(await health(file)).toEqual({ exitCode: 2, stdout: "", stderr: told });
});

it("finds a Unix socket too", () => {
  expect(readAdmin('admin: { bind: "unix:/run/admin.sock" }')).toEqual({
    value: { kind: "unix", path: "/run/admin.sock" },
  });
});

it("loads only what it needs, since it starts anew each time", async () => {
  const { file } = await stage();
  const { env, loaded } = watchScripts();
  const ended = await runCommand(["health"], plainEnvironment({ ...env, COUNTERSIGN_CONFIG: file }));
  expect(ended.exitCode).toBe(0);
  const files = loaded().filter((url) => url.includes("/dist/"));
  const text = files.map((url) => readFileSync(new URL(url), "utf8")).join("\n");
  const packages = [...text.matchAll(/^\/\/ node_modules\/([^/]+)\//gm)].map(([, name]) => name);
  expect([...new Set(packages)].sort()).toEqual(["commander", "js-yaml", "yaml"]);
});

async function stage() {
  const { file, folder, adminPort } = await configureDoctor();
  await startServe(file);
  return { file, folder, place: `127.0.0.1:${adminPort}` };
}
