/** A start loads no package that its configuration has no use for. */
import { expect, it } from "vitest";
import { clientKey } from "../../../testkit/certificates.ts";
import { ConfigWriter, sandboxConfig } from "../../../testkit/config-writer.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { plainEnvironment, startProgram } from "../../../testkit/run-program.ts";

/** Says on standard error that the package was asked for. */
const watch = `data:text/javascript,${encodeURIComponent(`
import { register } from "node:module";
register("data:text/javascript," + encodeURIComponent(\`
import { writeSync } from "node:fs";
export function resolve(specifier, context, next) {
  if (specifier === "jose") writeSync(2, "jose is loaded\\\\n");
  return next(specifier, context);
}\`));
`)}`;

it.each([
  {
    what: "does not load jose for a secret",
    set: { clientSecret: { file: "secret" } },
    clientAuth: "basic",
    isLoaded: false,
  },
  {
    what: "loads jose for an assertion",
    set: { privateKey: { file: "key" } },
    clientAuth: "private_key_jwt",
    isLoaded: true,
  },
])("$what", async ({ set, clientAuth, isLoaded }) => {
  const granted = { access_token: "canary-token", token_type: "Bearer", expires_in: 3600 };
  const login = await startRawUpstream({
    answer: (_request, socket) => void socket.write(rawAnswer(200, JSON.stringify(granted))),
  });
  const folder = new ConfigWriter("jose");
  folder.write("secret", "canary-client-secret");
  folder.write("key", clientKey);
  const file = folder.config(
    "countersign.yaml",
    sandboxConfig(["127.0.0.1:0"], {
      baseUrl: "http://127.0.0.1:9",
      authUrl: login.url,
      token: { clientAuth },
      sites: { S1: { credentials: [{ name: "one", clientId: "one-id", audience: "a", ...set }] } },
    }),
  );
  const args = ["--import", watch, "dist/unbundled.js", "token", "--config", file];
  const program = startProgram(process.execPath, args, plainEnvironment());
  expect(await program.ended).toBe(0);
  expect(program.stdout()).toContain("a token [12 characters], valid for 3600 s");
  expect(program.stderr().includes("jose is loaded")).toBe(isLoaded);
  folder.remove();
});
