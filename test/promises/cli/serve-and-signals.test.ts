import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startSimulator } from "../../../simulator/src/service/simulator.ts";
import { ConfigFolder, canaries } from "../../../testkit/config-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { plainEnvironment, startProgram } from "../../../testkit/run-program.ts";

// Signals that must neither open nor end a proxy that serves (row 57, product section 1). The command is the built one.

/** `serve` on a Unix socket, with the simulator behind it; whoever opens an inspector would find it at this port. */
async function startServe(logLevel = "info") {
  const simulator = await startSimulator({
    sites: [{ identifier: "S1", keys: [{ identifier: "K1", secret: canaries.key, isDefault: true }] }],
  });
  onTestFinished(() => simulator.stop());
  const folder = new ConfigFolder();
  const socketPath = join(folder.path, "app.sock");
  const file = folder.write(
    "countersign.yaml",
    `listeners: [ { bind: "unix:${socketPath}", environment: sandbox } ]
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
log: { level: ${logLevel} }
environments:
  sandbox:
    baseUrl: ${simulator.apiUrl}
    authUrl: ${simulator.loginUrl}
    allowPlaintext: true
    operations: [create_order]
    sites: { S1: { keys: [ { identifier: K1, secret: { file: ${folder.path}/k1 } } ] } }
`,
  );
  const inspectorPort = await freePort();
  const args = [`--inspect-port=${inspectorPort}`, "dist/main.js", "serve", "--config", file];
  const program = startProgram(process.execPath, args, plainEnvironment());
  await program.line((line) => line.includes('"event":"started"'));
  return { ...program, inspectorPort, order: () => sendOrder(socketPath) };
}

/** The status of an order. */
function sendOrder(socketPath: string): Promise<number | undefined> {
  const headers = { "content-type": "application/json", host: "localhost" };
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, method: "POST", path: "/create_order", headers, agent: false });
    outgoing.on("error", reject).on("response", (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    outgoing.end('{"order_amount":10,"order_currency":"EUR"}');
  });
}

/** `open`, or the code of the error. */
function knock(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => {
      socket.destroy();
      resolve("open");
    });
    socket.on("error", ({ code }: NodeJS.ErrnoException) => resolve(code));
  });
}

it("opens no inspector on SIGUSR1, and goes on serving", async () => {
  const { child, order, inspectorPort, stderr } = await startServe();
  for (let n = 0; n < 10; n += 1) {
    child.kill("SIGUSR1");
    expect(await order()).toBe(200);
    expect(await knock(inspectorPort)).toBe("ECONNREFUSED");
  }
  expect(stderr()).toBe("");
});
