// npm runs this before it packs or publishes: it builds, so that a package is never made of old files. In a clean clone the
// compiler is installed first. Nothing goes to standard output, on which npm names the package.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

// `npm pack --dry-run` passes its option on to `npm ci`, which would install nothing.
if (!existsSync("node_modules")) run("ci", "--no-audit", "--no-fund", "--dry-run=false");
run("run", "--silent", "build");

function run(...args) {
  const { status } = spawnSync("npm", args, { stdio: ["ignore", 2, 2], shell: process.platform === "win32" });
  if (status !== 0) process.exit(status ?? 1);
}
