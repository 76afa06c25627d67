/** Environments whose sites all sign need no authUrl: the built command serves, checks and examines them without it. */
import { expect, it } from "vitest";
import { call, get } from "../../../testkit/call.ts";
import { ConfigFolder, canaries } from "../../../testkit/config-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { runCommand, startServe } from "../../../testkit/run-program.ts";
import { startService } from "./doctor-runs.ts";

const key = "{ keys: [ { identifier: K1, secret: { file: DIR/k1 } } ] }";

it("signs, serves, and shows its status without an authUrl", async () => {
  const { file, port, simulator } = await stage();
  const { adminUrl, statusUrl } = await startServe(file);
  const { environments } = (await get(statusUrl, "/status")).json;
  expect(environments.map(({ authUrl }: { authUrl?: string }) => authUrl)).toEqual([undefined, undefined]);
  expect((await get(adminUrl, "/readyz")).status).toBe(200);
  expect((await call(`http://127.0.0.1:${port}`)).status).toBe(200);
  expect(simulator.counts()).toMatchObject({ accepted: 1, tokenRequests: 0 });
});

it("check and doctor work without an authUrl", async () => {
  const { file } = await stage();
  const checked = await runCommand(["check", "--config", file, "--json"]);
  expect(checked).toMatchObject({ exitCode: 0, stderr: "" });
  expect(JSON.parse(checked.stdout).configuration.environments.one).not.toHaveProperty("authUrl");
  const examined = await runCommand(["doctor", "--config", file, "--json"]);
  const tokens = JSON.parse(examined.stdout).checks.filter(({ topic }: { topic: string }) => topic === "token");
  expect(tokens.map(({ verdict, environment }: Record<string, string>) => `${environment} ${verdict}`)).toEqual([
    "one skipped",
    "two skipped",
  ]);
});

async function stage() {
  const keys = [{ identifier: "K1", secret: canaries.key }];
  const simulator = await startService({ sites: [{ identifier: "S1", keys }] });
  const port = await freePort();
  const yaml = `listeners: [ { bind: "127.0.0.1:${port}", environment: one }, { bind: "127.0.0.1:0", environment: two } ]
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
readiness: token
environments:
  one: { baseUrl: "${simulator.apiUrl}", allowPlaintext: true, operations: [create_order], sites: { S1: ${key} } }
  two: { baseUrl: "https://two.invalid", operations: [create_order], sites: { S2: ${key.replace("K1", "K2").replace("k1", "k2")} } }
`;
  return { simulator, port, file: new ConfigFolder().writeYaml(yaml) };
}
