/** `simulate` plays the service, also with the sites, children, keys and credential sets of a user's own configuration. */
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { ConfigFolder, canaries } from "../../../testkit/config-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { listen } from "../../../testkit/listen.ts";
import { type Program, runCommand, startProgram, startServe } from "../../../testkit/run-program.ts";

it("serves every site and key of the configuration, at its addresses, and shows none of its secrets", async () => {
  const { file, listener, apiPort, loginPort } = await write();
  const simulate = await startSimulate("--config", file);
  await startServe(file);
  for (const site of ["S1", "S2", "S3", "K1", "K2"]) {
    const order = { order_amount: "10.00", call: "a", note: site.startsWith("S1") ? "a" : "A-1" };
    const answer = await call(`http://127.0.0.1:${listener}`, order, { headers: { "Countersign-Site": site } });
    expect({ site, status: answer.status }).toEqual({ site, status: 200 });
  }
  expect(await simulate.stop("SIGINT")).toBe(0);
  const shown = simulate.stdout();
  expect(shown).toContain(`JSON API    http://127.0.0.1:${apiPort}/v3/json-api\n`);
  expect(shown).toContain(`authorization server  http://127.0.0.1:${loginPort}\n`);
  for (const line of ["site        S2, child of S1", "            key K2", "            client blue-id audience "]) {
    expect(shown).toContain(`\n${line}`);
  }
  expect(shown).toMatch(/\nmade up {5}tokens, order ids and the bodies of answers/);
  expect(shown).toMatch(/seen: 5 calls \(5 accepted/);
  expect(shown).not.toContain("names other addresses");
  for (const secret of Object.values(canaries)) expect(shown + simulate.stderr()).not.toContain(secret);
});

it("issues other tokens after a restart, so the next order is cured", async () => {
  const { file, listener } = await write();
  const first = await startSimulate("--config", file);
  await startServe(file);
  const order = () =>
    call(`http://127.0.0.1:${listener}`, { note: "a", call: "a" }, { headers: { "Countersign-Site": "S1" } });
  expect((await order()).status).toBe(200);
  await first.stop("SIGINT");
  await startSimulate("--config", file);
  expect((await order()).status).toBe(200);
});

it("prints the addresses to configure if those of the configuration are not this machine's", async () => {
  const { file } = await write({ api: "https://api.sandbox.example/json-api", login: "https://login.sandbox.example" });
  const simulate = await startSimulate("--config", file, "--api-port", "0", "--login-port", "0");
  const [, api] = /\nJSON API {4}(\S+)\n/.exec(simulate.stdout()) ?? [];
  const [, login] = /\nauthorization server {2}(\S+)\n/.exec(simulate.stdout()) ?? [];
  expect(simulate.stdout()).toContain(`sandbox:\n    baseUrl: ${api}\n    authUrl: ${login}\n    allowPlaintext: true`);
  expect(api).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/json-api$/);
});

it("prints the secrets that it made up itself, so that a configuration can be written for it", async () => {
  const simulate = await startSimulate("--api-port", "0", "--login-port", "0");
  expect(simulate.stdout()).toContain("client client-blue secret example-client-secret-blue audience https://");
  expect(simulate.stdout()).toContain("\n            key K2000000001 secret example-api-secret-key-one\n");
});

it("refuses an environment that the configuration does not have", async () => {
  const { file } = await write();
  const { exitCode, stderr } = await runCommand(["simulate", "--config", file, "--environment", "production"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: "--environment is one of: sandbox.\n" });
});

it("refuses a port that it would not use, since the configuration has one", async () => {
  const { file } = await write();
  const { exitCode, stderr } = await runCommand(["simulate", "--config", file, "--api-port", "1"]);
  const why = "--api-port does nothing here: the port is in environments.sandbox.baseUrl.\n";
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: why });
});

it.each(["simulate", "demo"])(
  "shows the options of %s, also when it is called as a command of countersign",
  async (command) => {
    const { exitCode, stdout } = await runCommand([command, "--help"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`Usage: countersign ${command} [options]`);
    expect(stdout).toMatch(command === "demo" ? /--once/ : /--token-lifetime/);
  },
);

it("says which clients it does not know, since it plays the service's own authorization server only", async () => {
  const { file } = await write({ token: "    token: { clientAuth: basic }\n" });
  const simulate = await startSimulate("--config", file);
  expect(simulate.stdout() + simulate.stderr()).toContain("client blue-id is not known here");
  expect(simulate.stdout()).not.toContain("client blue-id audience");
});

/** The simulator's own command. */
function simulate(...args: readonly string[]): Program {
  return startProgram(process.execPath, ["simulator/dist/main.js", "simulate", ...args]);
}

it("prints its addresses, counts requests, and prints the counts at its end", async () => {
  const running = simulate("--json", "--api-port", "0", "--login-port", "0");
  const { baseUrl, authUrl } = JSON.parse(await running.line(() => true));
  expect((await fetch(`${baseUrl}/create_order`, { method: "POST", body: "{}" })).status).toBe(415);
  expect((await fetch(`${authUrl}/oauth/token`, { method: "POST", body: "{}" })).status).toBe(415);
  expect(await running.stop("SIGINT")).toBe(0);
  const lines = running.stdout().trimEnd().split("\n");
  expect(lines).toHaveLength(2);
  expect(JSON.parse(lines[1] ?? "")).toMatchObject({ apiRequests: 1, refused: 1, tokenRequests: 1, tokensIssued: 0 });
});

it.each([
  ["--api-port", "--login-port"],
  ["--login-port", "--api-port"],
])("names a port that is taken, and the option for another: %s", async (option, other) => {
  const port = await listen(createServer());
  const running = simulate(option, String(port), other, "0");
  expect(await running.ended).toBe(2);
  const fix = `end what listens there, or name another port with ${option}`;
  expect(running.stderr()).toBe(`The simulator cannot start: port ${port} is taken; ${fix}.\n`);
});

it.each([
  { args: ["--api-port", "65536"], says: "A port is at most 65535" },
  { args: ["--token-lifetime", "0", "--login-port", "0"], says: "a whole number of seconds above 0" },
])("refuses options with invalid values: $args", async ({ args, says }) => {
  const running = simulate(...args);
  expect(await running.ended).toBe(2);
  expect(running.stderr()).toContain(says);
});

async function write({ api = "", login = "", token = "" } = {}) {
  const folder = new ConfigFolder();
  const [listener, apiPort, loginPort] = [await freePort(), await freePort(), await freePort()];
  const yaml = `listeners: [ { bind: "127.0.0.1:${listener}", environment: sandbox } ]
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
environments:
  sandbox:
    baseUrl: ${api || `http://127.0.0.1:${apiPort}/v3/json-api`}
    authUrl: ${login || `http://127.0.0.1:${loginPort}`}
    allowPlaintext: true
    operations: [create_order]
    defaultSite: S1
${token}    sites:
      S1:
        credentials: [ { name: blue, dir: DIR/blue } ]
        children: { S2: {} }
      S3:
        exempt: [format]
        characters: "off"
        keys:
          - { identifier: K1, secret: { file: DIR/k1 }, default: true }
          - { identifier: K2, secret: { file: DIR/k2 } }
`;
  return { file: folder.writeYaml(yaml), listener, apiPort, loginPort };
}

/** The built command, once it serves. */
async function startSimulate(...args: readonly string[]): Promise<Program> {
  const program = startProgram(process.execPath, ["dist/main.js", "simulate", ...args]);
  await program.line((line) => line.includes("Ctrl-C"));
  return program;
}
