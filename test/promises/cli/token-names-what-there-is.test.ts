/** `token` for a set that is not configured asks nobody, and names those that are. */
import { expect, it } from "vitest";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { runCommand } from "../../../testkit/run-program.ts";

const oauth = `listeners: [ { bind: "127.0.0.1:0", environment: sandbox } ]
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
environments:
  sandbox:
    baseUrl: https://api.invalid
    authUrl: https://login.invalid
    operations: [create_order]
    sites:
      S1: { credentials: [ { name: blue, dir: DIR/blue } ] }
`;
const hmac = oauth.replace(/S1: .*/, "S1: { keys: [ { identifier: K1, secret: { file: DIR/k1 } } ] }");

it.each([
  ["names them", oauth, "Configured: --environment sandbox --site S1."],
  ["says that there are none", hmac, "None is configured."],
])("%s", async (_, yaml, fix) => {
  const folder = new ConfigFolder();
  const file = folder.write("countersign.yaml", yaml.replaceAll("DIR", folder.path));
  const { exitCode, stderr } = await runCommand(["token", "--config", file, "--environment", "nope"]);
  expect(exitCode).toBe(2);
  expect(stderr).toBe(`No credential set matches --environment and --site. ${fix}\n`);
});
