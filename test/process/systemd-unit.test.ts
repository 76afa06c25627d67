/** deploy/systemd, read by systemd itself where it is installed, and held to the times and limits of the code. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { configSchema } from "../../src/config/schema.ts";
import { parseDuration } from "../../src/config/duration.ts";
import { isInstalled } from "../../testkit/run-program.ts";

const unit = readFileSync("deploy/systemd/countersign.service", "utf8");
const dropIn = readFileSync("deploy/systemd/credentials.conf", "utf8");
const hasSystemd = isInstalled("systemd-analyze", "--version");
const named = hasSystemd ? "systemd" : "NOT TRIED, systemd-analyze is not installed: systemd";

describe.runIf(hasSystemd)(named, () => {
  it("takes the unit, with and without the drop-in for credentials", () => {
    for (const withDropIn of [false, true]) {
      const { status, stderr } = analyze(withDropIn, "verify");
      expect(stderr).toBe("");
      expect(status).toBe(0);
    }
  });

  it("finds the service little exposed", () => {
    // Of 100; what is left is its use of the network.
    const { status, stdout } = analyze(false, "security", "--offline=true", "--threshold=15", "--no-pager");
    expect(stdout).toContain("Overall exposure level");
    expect(status).toBe(0);
  });
});
