import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** The built command as the proxy's image holds it, where no package can be found. Returns its main file. */
export function bundle(): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-bundle-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ["main.js", "bundled", "third-party-licenses.txt"]) {
    cpSync(join("dist", name), join(folder, "dist", name), { recursive: true });
  }
  cpSync("package.json", join(folder, "package.json"));
  return join(folder, "dist", "main.js");
}
