/** A process loads no package that its configuration does not use, and none of tracing. */
import { expect, it } from "vitest";
import { bundle } from "../../../testkit/bundle.ts";
import { clientKey } from "../../../testkit/certificates.ts";
import { startCollector } from "../../../testkit/collector.ts";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { sandboxConfig } from "../../../testkit/config-writer.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { watchScripts } from "../../../testkit/loaded-scripts.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { granted, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { plainEnvironment, runToEnd, startServe } from "../../../testkit/run-program.ts";
import { rawRequest } from "../../../testkit/stage/pass-through.ts";

const secret = { clientSecret: { file: "secret" } };

/** Reports on standard error a use of what newer versions of Node deprecate. */
const watchDeprecated = `data:text/javascript,${encodeURIComponent(`
import { writeSync } from "node:fs";
import util from "node:util";
util._extend = (...given) => {
  writeSync(2, "DEP0060\\n");
  return Object.assign(...given);
};
`)}`;

/** Reports on standard error, when the process ends, that `node:http` was loaded: on Node.js 24 it takes 12 MiB and 27 ms. */
const watchHttp = `data:text/javascript,${encodeURIComponent(`
import { writeSync } from "node:fs";
process.on("exit", () => process.moduleLoadList.includes("NativeModule http") && writeSync(2, "node:http"));
`)}`;

it("serves, and shows its state, without node:http", async () => {
  const { file } = await stage(secret, {});
  const program = await startServe(file, { main: bundle(), options: ["--import", watchHttp] });
  expect(await program.stop()).toBe(0);
  expect(program.stderr()).toBe("");
});

it.each([
  ["does not load http-proxy without a route", []],
  ["loads http-proxy for a route, without a warning", [{ prefix: "/files/", methods: ["GET"] }]],
])("%s", { timeout: 60_000 }, async (_, passThrough) => {
  const { port, file } = await stage(secret, { passThrough });
  const main = bundle();
  const options = ["--pending-deprecation", "--import", watchDeprecated, "--import", watchHttp];
  const program = await startServe(file, { main, options });
  const hasRoute = passThrough.length > 0;
  if (hasRoute) expect((await ask(port, rawRequest("GET /files/a", ["Content-Length: 1"], "x"))).text).toBe("a");
  expect(await program.stop()).toBe(0);
  // http-proxy needs node:http.
  expect(program.stderr()).toBe(hasRoute ? "node:http" : "");
});

it.each([
  ["does not load jose for a secret", secret, "basic", false],
  ["loads jose for an assertion", { privateKey: { file: "key" } }, "private_key_jwt", true],
])("%s", async (_, set, clientAuth, isLoaded) => {
  const { file, scripts } = await stage(set, { token: { clientAuth } });
  const args = ["dist/unbundled.js", "token", "--config", file];
  const { exitCode, stdout } = await runToEnd(process.execPath, args, plainEnvironment(scripts.env));
  expect(exitCode).toBe(0);
  expect(stdout).toContain("a token [12 characters], valid for 3600 s");
  expect(scripts.loaded().some((url) => url.includes("/node_modules/jose/"))).toBe(isLoaded);
});

it.each([
  ["loads nothing of tracing if tracing is not configured", false],
  ["loads tracing if it is configured, and connects to no collector before there is a span", true],
])("%s", async (_, isTraced) => {
  const collector = await startCollector();
  // A token request would be a span.
  const keys = { S1: { keys: [{ identifier: "K1", secret: { file: "secret" } }] } };
  const tracing = isTraced ? { tracing: { otlp: { endpoint: collector.url } } } : {};
  const { file, scripts } = await stage(secret, { sites: keys }, tracing);
  const program = await startServe(file, { main: "dist/unbundled.js", env: plainEnvironment(scripts.env) });
  expect(await program.stop()).toBe(0);
  const loaded = scripts.loaded().filter((url) => url.includes("/tracing/"));
  if (isTraced) expect(loaded.join()).toContain("span-exporter");
  else expect(loaded).toEqual([]);
  expect(collector.requests).toEqual([]);
});

/** A site with OAuth, an authorization server and a service; the listener's port, and what the process loads. */
async function stage(set: object, environment: object, more: object = {}) {
  const login = await startRawUpstream({ answer: granted });
  const service = await startRawUpstream({ answer: rawAnswer(200, "a") });
  const folder = new ConfigFolder({ secret: "canary-client-secret", key: clientKey });
  const port = await freePort();
  const sites = { S1: { credentials: [{ name: "one", clientId: "one-id", audience: "a", ...set }] } };
  const sandbox = { baseUrl: service.url, authUrl: login.url, sites, ...environment };
  const file = folder.config("countersign.yaml", sandboxConfig([`127.0.0.1:${port}`], sandbox, more));
  return { port, file, scripts: watchScripts() };
}
