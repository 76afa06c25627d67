/** A start loads no package that its configuration has no use for; and one that is old prints no warning of Node's. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { bundle } from "../../../testkit/bundle.ts";
import { ConfigWriter, sandboxConfig } from "../../../testkit/config-writer.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { plainEnvironment, startProgram } from "../../../testkit/run-program.ts";
import { rawRequest } from "../pass-through/stage.ts";

const granted = JSON.stringify({ access_token: "canary-token", token_type: "Bearer", expires_in: 3600 });

/** Says on standard error that the package was asked for, or that it used what newer versions of Node warn of. */
const watch = (module: string) =>
  `data:text/javascript,${encodeURIComponent(`
import { register } from "node:module";
import { writeSync } from "node:fs";
import util from "node:util";
util._extend = (...given) => {
  writeSync(2, "DEP0060\\n");
  return Object.assign(...given);
};
register("data:text/javascript," + encodeURIComponent(\`
import { writeSync } from "node:fs";
export function resolve(specifier, context, next) {
  if (specifier.endsWith("${module}")) writeSync(2, "it is loaded\\\\n");
  return next(specifier, context);
}\`));
`)}`;

it.each([
  ["does not load http-proxy without a route", [], ""],
  ["loads http-proxy for a route, without a warning", [{ prefix: "/files/", methods: ["GET"] }], "it is loaded\n"],
])("%s", { timeout: 60_000 }, async (_, passThrough, said) => {
  const login = await startRawUpstream({ answer: (_request, socket) => void socket.write(rawAnswer(200, granted)) });
  const service = await startRawUpstream({ answer: (_request, socket) => void socket.write(rawAnswer(200, "a")) });
  const folder = new ConfigWriter("http-proxy");
  onTestFinished(() => folder.remove());
  const set = {
    name: "one",
    clientId: "one-id",
    audience: "a",
    clientSecret: folder.secret("s", "canary-client-secret"),
  };
  const port = await freePort();
  const sites = { S1: { credentials: [set] } };
  const sandbox = { baseUrl: service.url, authUrl: login.url, passThrough, sites };
  const file = folder.config("countersign.yaml", sandboxConfig([`127.0.0.1:${port}`], sandbox));
  const main = bundle();
  const module = chunkOf(main);
  const args = ["--pending-deprecation", "--import", watch(module), main, "serve", "--config", file];
  const program = startProgram(process.execPath, args, plainEnvironment());
  await program.line((line) => line.includes('"event":"started"'));
  if (said !== "") expect((await ask(port, rawRequest("GET /files/a"))).text).toBe("a");
  program.child.kill("SIGTERM");
  expect(await program.ended).toBe(0);
  expect(program.stderr()).toBe(said);
});

/** The file of the bundle that holds the package. */
function chunkOf(main: string): string {
  const folder = join(dirname(main), "bundled");
  const found = readdirSync(folder).filter((name) =>
    /^\/\/ node_modules\/http-proxy\/index\.js/m.test(readFileSync(join(folder, name), "utf8")),
  );
  expect(found).toHaveLength(1);
  return found[0] ?? "";
}
