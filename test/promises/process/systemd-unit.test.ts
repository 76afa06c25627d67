/** deploy/systemd, verified by systemd itself if installed, and compared with the times in the code. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readDocument } from "../../../src/config/files/yaml.ts";
import { configSchema } from "../../../src/config/form/schema.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { isInstalled, nameFor } from "../../../testkit/run-program.ts";

const unit = readFileSync("deploy/systemd/countersign.service", "utf8");
const dropIn = readFileSync("deploy/systemd/credentials.conf", "utf8");
const hasSystemd = isInstalled("systemd-analyze", "--version");

describe.runIf(hasSystemd)(nameFor(hasSystemd, "systemd-analyze", "systemd"), () => {
  it.each([
    ["as it is", {}],
    ["with the drop-in for credentials", { "credentials.conf": dropIn }],
  ])("accepts the unit %s", (_, dropIns) => {
    expect(analyze("verify", dropIns)).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  it("finds what is wrong with a unit", () => {
    expect(analyze("verify", { "wrong.conf": "[Service]\nRestart=sometimes\n" }).stderr).toContain("sometimes");
  });

  it("rates the service's exposure as low: its only points are for the use of the network", () => {
    const limit = ["--offline=true", "--threshold=15", "--no-pager"];
    expect(analyze("security", {}, ...limit).status).toBe(0);
    const { status } = analyze("security", { "lax.conf": "[Service]\nProtectSystem=no\nPrivateUsers=no\n" }, ...limit);
    expect(status).not.toBe(0);
  });
});

it("systemd waits longer than open requests may take", () => {
  const example = configSchema.parse(readDocument(readFileSync("examples/hmac.yaml", "utf8")).value);
  const longestMs = example.drain.min + example.timeouts.request + 2_000;
  const [, seconds = ""] = /^TimeoutStopSec=(\d+)s$/m.exec(unit) ?? [];
  expect(Number(seconds) * 1_000).toBeGreaterThan(longestMs);
});

it("docs/install.md makes the user, the folder and the program that the unit names", () => {
  const page = readFileSync("docs/install.md", "utf8");
  const value = (key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(unit)?.[1] ?? "";
  expect(page).toMatch(new RegExp(`^adduser --system --group .* ${value("User")}$`, "m"));
  expect(value("Group")).toBe(value("User"));
  const [, folder = ""] = /^COUNTERSIGN_CONFIG=(.*)\/countersign\.yaml$/.exec(value("Environment")) ?? [];
  expect(page).toContain(`install -d -o root -g ${value("Group")} -m 750 ${folder} ${folder}/secrets\n`);
  const [, prefix = ""] = /^(.*)\/bin\/countersign serve$/.exec(value("ExecStart")) ?? [];
  expect(page).toContain(`npm install --global --prefix ${prefix} countersign@`);
  expect(page).toContain(`${prefix}/lib/node_modules/countersign/deploy/systemd/countersign.service`);
});

it("V8 may compile, and with credentials a reload runs no check, since systemd gives ExecReload no credentials", () => {
  expect(unit).not.toMatch(/^MemoryDenyWriteExecute=/m);
  expect(dropIn).toMatch(/^ExecReload=\nExecReload=\/bin\/kill -HUP \$MAINPID$/m);
});

/** Runs systemd-analyze on a copy of the unit, whose program is one that exists. */
function analyze(verb: string, dropIns: Readonly<Record<string, string>>, ...options: readonly string[]) {
  const folder = emptyFolder();
  const file = join(folder, "countersign.service");
  writeFileSync(file, unit.replaceAll("/usr/local/bin/countersign", process.execPath));
  mkdirSync(`${file}.d`);
  for (const [name, text] of Object.entries(dropIns)) writeFileSync(join(`${file}.d`, name), text);
  const env = { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:`, NO_COLOR: "1" };
  const { status, stdout, stderr } = spawnSync("systemd-analyze", [verb, ...options, file], { encoding: "utf8", env });
  return { status, stdout, stderr };
}
