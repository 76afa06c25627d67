/** Row 83: whoever follows docs/moving-from-hmac.md is told of a signature that is not the key's. test/docs/try-it.test.ts types its commands. */
import { spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { plainEnvironment } from "../../testkit/run-program.ts";

it("previews what becomes of a caller's own signature", () => {
  const folder = new ConfigWriter("moving-page");
  onTestFinished(() => folder.remove());
  cpSync("examples/moving-from-hmac", folder.path, { recursive: true });
  for (const secret of ["k1", "blue"]) folder.write(secret, "a-secret-of-the-portal");
  const input = '{"version":"3.0","site_identifier":"S1000000003","timestamp":"1700000000","signature":"wrong"}';
  const args = ["dist/main.js", "preview", "--config", `${folder.path}/countersign.yaml`];
  const { stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env: plainEnvironment(), input });
  expect(stderr).toContain("The caller's own signature, which is dropped: invalid.\n");
});
