// Compiles src/ to dist/, bundles the command into dist/main.js and simulator/src/ into simulator/dist/, all fresh. A build
// that fails leaves the last one as it was.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const typescript = locateCompiler();
const { bundle } = await import("./bundle.mjs");
await replace("dist", async (fresh) => {
  const tsc = join(dirname(typescript), "bin", "tsc");
  const { status } = spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", fresh], {
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
  // The same command of the modules that are compiled here, which tests change one by one.
  renameSync(join(fresh, "main.js"), join(fresh, "unbundled.js"));
  await bundle(["src/main.ts"], fresh);
});
await replace("simulator/dist", async (fresh) => {
  await bundle(["simulator/src/main.ts", "simulator/src/program.ts"], fresh);
  copyFileSync("LICENSE", join(fresh, "LICENSE"));
});

/** A swap of names, since programs may be starting from the old folder, and another build may be doing the same. */
async function replace(folder, make) {
  const [fresh, old] = [`${folder}.${process.pid}`, `${folder}.${process.pid}.old`];
  const removeUnfinished = () => rmSync(fresh, { recursive: true, force: true });
  process.on("exit", removeUnfinished);
  await make(fresh);
  if (existsSync(folder)) renameSync(folder, old);
  renameSync(fresh, folder);
  rmSync(old, { recursive: true, force: true });
  process.off("exit", removeUnfinished);
}

function locateCompiler() {
  try {
    return createRequire(import.meta.url).resolve("typescript/package.json");
  } catch {
    process.stderr.write("The compiler is not installed. Run npm ci first.\n");
    process.exit(1);
  }
}
