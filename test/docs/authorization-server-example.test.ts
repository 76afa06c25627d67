/** examples/authorization-server: a real authorization server, the service that verifies its tokens, and the configuration. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { call, order } from "../../testkit/call.ts";
import { ConfigFolder } from "../../testkit/config-folder.ts";
import { freePort } from "../../testkit/free-port.ts";
import { startProgram, startServe } from "../../testkit/run-program.ts";

it("an order goes to the service with a token of its authorization server", async () => {
  const folder = new ConfigFolder();
  const written = readFileSync("examples/authorization-server/countersign.yaml", "utf8");
  const ports = new Map<string, string>();
  for (const port of ["7411", "7412", "7413", "7421", "7422"]) ports.set(port, String(await freePort()));
  const own = written.replace(/\b74[12]\d\b/g, (port) => ports.get(port) ?? port);
  const file = folder.write("countersign.yaml", own);
  const [port = "", apiPort = "", loginPort = ""] = ["7411", "7421", "7422"].map((each) => ports.get(each));
  const server = ["examples/authorization-server/server.mjs", folder.path, apiPort, loginPort];
  await startProgram(process.execPath, server).line((line) => line === "ready");
  await startServe(file);
  const { status, json } = await call(`http://127.0.0.1:${port}`);
  expect(status).toBe(200);
  expect(json).toMatchObject({ client: "countersign", scope: "orders", order: { site_identifier: "S1000000001" } });
  const bySite = { headers: { "countersign-site": "S1000000002" } };
  const ofPod = await call(`http://127.0.0.1:${port}`, order, bySite);
  expect(ofPod.status).toBe(200);
  expect(ofPod.json).toMatchObject({ client: "pod", order: { site_identifier: "S1000000002" } });
});
