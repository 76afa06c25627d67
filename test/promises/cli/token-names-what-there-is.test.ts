/** `token` for a set that is not configured asks nobody, and names those that are. */
import { expect, it } from "vitest";
import { ConfigFolder, edited, sound } from "../../../testkit/config-folder.ts";
import { runCommand } from "../../../testkit/run-program.ts";

const credentials = "credentials:\n          - { name: blue, dir: DIR/blue }\n";
const hmac = edited([credentials, "keys: [ { identifier: K1, secret: { file: DIR/k1 } } ]\n"]);

it.each([
  ["names them", sound, "Configured: --environment sandbox --site S1000000001."],
  ["says that there are none", hmac, "None is configured."],
])("%s", async (_, yaml, fix) => {
  const folder = new ConfigFolder();
  const file = folder.write("countersign.yaml", yaml.replaceAll("DIR", folder.path));
  const { exitCode, stderr } = await runCommand(["token", "--config", file, "--environment", "nope"]);
  expect(exitCode).toBe(2);
  expect(stderr).toBe(`No credential set matches --environment and --site. ${fix}\n`);
});
