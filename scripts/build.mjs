// Compiles src/ to dist/, fresh, and makes the command executable. A build that fails leaves the last one as it was.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const typescript = locateCompiler();
const tsc = join(dirname(typescript), "bin", "tsc");
const fresh = `dist.${process.pid}`;
const { status } = spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", fresh], {
  stdio: "inherit",
});
if (status === 0) {
  chmodSync(join(fresh, "main.js"), 0o755);
  replace("dist", fresh, `${fresh}.old`);
} else {
  rmSync(fresh, { recursive: true, force: true });
  process.exitCode = status ?? 1;
}

/** A swap of names, since programs may be starting from the old folder, and another build may be doing the same. */
function replace(folder, by, aside) {
  if (existsSync(folder)) renameSync(folder, aside);
  renameSync(by, folder);
  rmSync(aside, { recursive: true, force: true });
}

function locateCompiler() {
  try {
    return createRequire(import.meta.url).resolve("typescript/package.json");
  } catch {
    process.stderr.write("The compiler is not installed. Run npm ci first.\n");
    process.exit(1);
  }
}
