// What npm runs before it packs or publishes: the build, so that a package is never made of old files. In a clean clone the
// compiler is installed first. Standard output stays npm's, which names the package there.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

// `npm pack --dry-run` hands its option down, and nothing would be installed.
if (!existsSync("node_modules")) run("ci", "--no-audit", "--no-fund", "--dry-run=false");
run("run", "--silent", "build");

function run(...args) {
  const { status } = spawnSync("npm", args, { stdio: ["ignore", 2, 2], shell: process.platform === "win32" });
  if (status !== 0) process.exit(status ?? 1);
}
