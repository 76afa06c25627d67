/** Row 52: connections for which there are no descriptors are lost; the process goes on, and serves when there is room again. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startSimulator } from "../../src/simulator/simulator.ts";
import { ConfigFolder, canaries } from "../config/config-folder.ts";
import { call, order } from "../support/call.ts";
import { isInstalled, plainEnvironment, startProgram } from "../support/run-program.ts";

const site = "S1000000003";
/** As many connections as there is room for, and as many as there are. */
const room = 5;
const connections = 20;

const hasLimits = isInstalled("prlimit", "--version");
const named = (name: string) => (hasLimits ? name : `NOT TRIED, prlimit is not installed: ${name}`);

async function startServe() {
  const simulator = await startSimulator({
    sites: [{ identifier: site, keys: [{ identifier: "K2000000001", secret: canaries.key, isDefault: true }] }],
  });
  const folder = new ConfigFolder();
  const socketPath = join(folder.path, "app.sock");
  const file = folder.write(
    "countersign.yaml",
    `listeners: [ { bind: "unix:${socketPath}", environment: sandbox } ]
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
environments:
  sandbox:
    baseUrl: ${simulator.apiUrl}
    authUrl: ${simulator.loginUrl}
    allowPlaintext: true
    operations: [create_order]
    sites: { ${site}: { keys: [ { identifier: K2000000001, secret: { file: ${folder.path}/k1 } } ] } }
`,
  );
  const program = startProgram(process.execPath, ["dist/main.js", "serve", "--config", file], plainEnvironment());
  await program.line((line) => line.includes('"event":"started"'));
  return { simulator, program, socketPath };
}

it.runIf(hasLimits)(named("outlives a time without descriptors"), async () => {
  const { simulator, program, socketPath } = await startServe();
  const { pid } = program.child;
  const open = () => readdirSync(`/proc/${pid}/fd`).length;
  const most = open() + room;
  execFileSync("prlimit", ["--pid", `${pid}`, `--nofile=${most}:`]);
  const sockets = Array.from({ length: connections }, () => connect(socketPath).on("error", () => {}));
  const closed = sockets.map((socket) => once(socket, "close"));
  await Promise.race(closed);
  for (const socket of sockets) socket.destroy();
  await Promise.all(closed);
  // One for the order, one for its way to the service.
  await expect.poll(open).toBeLessThanOrEqual(most - 2);
  const { status } = await call("http://localhost", order, { socketPath, headers: { "Countersign-Site": site } });
  expect(status).toBe(200);
  program.child.kill("SIGTERM");
  expect(await program.ended).toBe(0);
  expect(program.stderr()).toBe("");
  await simulator.stop();
});
