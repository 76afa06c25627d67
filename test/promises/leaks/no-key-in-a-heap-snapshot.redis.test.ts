/** A heap snapshot shows no secret: the bytes of secrets are in KeyObjects, outside the JavaScript heap. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { stageBothWays } from "../../../testkit/both-ways.ts";
import { canaries, tokenKey } from "../../../testkit/config-folder.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { audience, sites } from "../../../testkit/faults-configuration.ts";
import { formsOf } from "../../../testkit/leaks/canaries.ts";
import { startServe } from "../../../testkit/run-program.ts";

it("a heap snapshot shows the configuration, but no secret", { timeout: 60_000 }, async () => {
  const snapshots = emptyFolder();
  const { redis, file, orderAt } = await stageBothWays();
  const options = ["--heapsnapshot-signal=SIGUSR2", `--diagnostic-dir=${snapshots}`];
  const program = await startServe(file, { options });
  for (let n = 0; n < 20; n++) {
    for (const site of [sites.hmac, sites.oauth]) expect(await orderAt(site)).toBe(200);
  }
  // Waits until the encryption key has sealed a token.
  await expect.poll(() => redis.command("KEYS", "countersign:*:token")).toHaveLength(1);

  program.child.kill("SIGUSR2");
  while (readdirSync(snapshots).length === 0) await orderAt(sites.hmac);
  // The process answers nobody while it writes the snapshot.
  expect(await orderAt(sites.hmac)).toBe(200);
  const [name = ""] = readdirSync(snapshots);
  const snapshot = readFileSync(join(snapshots, name), "latin1");
  expect(snapshot.endsWith("}")).toBe(true);
  for (const known of ["blue-id", "K2000000001", audience]) expect(snapshot.includes(known)).toBe(true);

  const bytes = Buffer.from(tokenKey, "hex").toString("latin1");
  const secrets = { "API secret key": canaries.key, "client secret": canaries.blue, "encryption key": tokenKey, bytes };
  const shown = Object.entries(secrets).filter(([, secret]) => formsOf(secret).some((form) => snapshot.includes(form)));
  expect(shown.map(([name]) => name)).toEqual([]);
});
