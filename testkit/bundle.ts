import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** The built command as the proxy's image holds it, where no package can be found. Returns its main file. */
export function bundle(): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-bundle-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  execFileSync(process.execPath, ["scripts/bundle.mjs", join(folder, "dist")]);
  copyFileSync("package.json", join(folder, "package.json"));
  return join(folder, "dist", "main.js");
}
