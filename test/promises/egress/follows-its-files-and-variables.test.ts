/** Proxy variables are used only if the configuration says so; a new password is used, and no password is shown. */
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startSimulator } from "../../../simulator/src/service/simulator.ts";
import { call } from "../../../testkit/call.ts";
import { ConfigWriter, sandboxConfig } from "../../../testkit/config-writer.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { type ForwardProxyOptions, startForwardProxy } from "../../../testkit/forward-proxy.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { canariesIn } from "../../../testkit/leaks/canaries.ts";
import { plainEnvironment, startProgram, startServe } from "../../../testkit/run-program.ts";
import { runDoctor } from "../cli/doctor-runs.ts";
import { Mount } from "../reload/mount.ts";

const audience = "https://api.sandbox.example";
const clientSecret = "canary-client-secret-blue";
const userInfo = "user:canary-proxy-password";

it("variables alone change nothing, for serve and for doctor", async () => {
  const { forward, simulator, configWith, url } = await stage();
  const file = configWith({});
  const env = variablesFor(forward);
  await startServe(file, { env });
  expect((await call(url)).status).toBe(200);
  expect((await runDoctor(["--config", file], env)).exitCode).toBe(0);
  expect(forward.connections()).toBe(0);
  expect(simulator.counts()).toMatchObject({ accepted: 1 });
});

it("with egress: environment the same variables are used, by serve and by doctor", async () => {
  const { forward, simulator, configWith, url } = await stage({ credentials: userInfo });
  const file = configWith({ egress: "environment" });
  const env = variablesFor(forward);
  const { events } = await startServe(file, { env });
  expect((await call(url)).status).toBe(200);
  expect(events("started")[0].routes[0]).toMatch(new RegExp(`; through the proxy ${forward.place}$`));
  expect([forward.connections(), forward.tunnels()]).toEqual([2, 2]);
  const { stdout, exitCode } = await runDoctor(["--config", file], env);
  expect(exitCode, stdout).toBe(0);
  expect(stdout).toContain(`through ${forward.place}: `);
  expect(forward.tunnels()).toBeGreaterThan(2);
  expect(simulator.counts()).toMatchObject({ accepted: 1, apiConnections: 2 });
});

it("a changed password is used without a restart, and neither the old nor the new one is shown", async () => {
  const { forward, simulator, mount, configWith, url } = await stage({ credentials: userInfo });
  const egress = { proxy: forward.url, auth: { file: join(mount.path, "auth") } };
  const program = await startServe(configWith({ egress }));
  expect((await call(url)).status).toBe(200);
  const next = "user:canary-proxy-password-next";
  forward.credentials = next;
  mount.update({ auth: next });
  await program.line((line) => line.includes('"event":"config_applied"'));
  expect((await call(url)).status).toBe(200);
  expect(forward.tunnels()).toBe(3);
  expect(simulator.counts()).toMatchObject({ accepted: 2, tokenRequests: 1 });

  forward.credentials = "user:another";
  mount.update({ auth: "user:canary-wrong-password" });
  await program.line(
    (line) => line.includes('"event":"config_applied"') && program.events("config_applied").length === 2,
  );
  const answer = await call(url);
  expect(answer.json).toMatchObject({ code: "upstream_unreachable", outcome: "not_sent" });
  await program.line((line) => line.includes('"cause":"PROXY_STATUS_407"') && line.includes("request_finished"));
  const metrics = await scrape(program.adminUrl);
  const tunnels = (result: string) => metrics.value("countersign_tunnels_total", { environment: "sandbox", result });
  expect([tunnels("opened"), tunnels("unauthorized"), tunnels("timed_out")]).toEqual([3, 2, 0]);

  const pages = ["/metrics", "/status", "/"].map(async (path) => {
    const base = path === "/metrics" ? program.adminUrl : program.statusUrl;
    return (await call(base, "", { method: "GET", path })).text;
  });
  const everything = [program.stdout(), program.stderr(), answer.text, ...(await Promise.all(pages))].join("\n");
  expect(everything).toContain("PROXY_STATUS_407");
  expect([...canariesIn(everything)]).toEqual([]);
});

it("check shows the forward proxy, but not its password", async () => {
  const { forward, configWith } = await stage();
  const file = configWith({ egress: "environment" });
  const program = startProgram(
    process.execPath,
    ["dist/main.js", "check", "--print", "--config", file],
    variablesFor(forward),
  );
  expect(await program.ended).toBe(0);
  expect(program.stdout()).toContain("egress: environment\n");
  expect(program.stdout()).toContain(`through the proxy ${forward.place}`);
  expect([...canariesIn(program.stdout() + program.stderr())]).toEqual([]);
});

/** The service, at an address of this machine that is not loopback; and a forward proxy. */
async function stage(proxy: ForwardProxyOptions = {}) {
  const credentials = [{ clientId: "blue-id", clientSecret, audience }];
  const simulator = await startSimulator({ sites: [{ identifier: "S1000000001", credentials }] });
  onTestFinished(() => simulator.stop());
  const anywhere = (url: string) => url.replace("127.0.0.1", "0.0.0.0");
  const [baseUrl, authUrl] = [anywhere(simulator.apiUrl), anywhere(simulator.loginUrl)];
  const hosts = Object.fromEntries([baseUrl, authUrl].map((url) => [new URL(url).host, new URL(url).port]));
  const forward = await startForwardProxy({ hosts, ...proxy });
  const folder = new ConfigWriter("egress");
  onTestFinished(() => folder.remove());
  const mount = new Mount(join(folder.path, "mount"), { auth: `${userInfo}\n` });
  const set = { name: "blue", clientId: "blue-id", audience, clientSecret: folder.secret("blue", clientSecret) };
  const sites = { S1000000001: { credentials: [set] } };
  const port = await freePort();
  const configWith = (egress: object) =>
    folder.config("countersign.yaml", sandboxConfig([`127.0.0.1:${port}`], { baseUrl, authUrl, sites, ...egress }));
  return { simulator, forward, mount, configWith, url: `http://127.0.0.1:${port}` };
}

function variablesFor({ place }: { readonly place: string }) {
  const url = `http://${userInfo}@${place}`;
  const all = { HTTPS_PROXY: url, https_proxy: url, HTTP_PROXY: url, http_proxy: url, ALL_PROXY: url, all_proxy: url };
  return plainEnvironment({ ...all, NODE_USE_ENV_PROXY: "1" });
}
