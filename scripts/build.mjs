// Compiles src/ to dist/, bundles the command into dist/main.js and simulator/src/ into simulator/dist/, all fresh. A build
// that fails or is interrupted leaves the last one as it was. With --if-stale it builds only if the sources have changed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { digestOf, digestSources, isFresh, writeRecord } from "./build-record.mjs";

const { values } = parseArgs({ options: { "if-stale": { type: "boolean", default: false } } });
const folders = ["dist", "simulator/dist"];
if (values["if-stale"]) {
  if (isFresh(folders)) process.exit();
  // Not on standard output, which belongs to the program that starts next.
  process.stderr.write("building… this takes 5 to 30 seconds, and only when something has changed\n");
}
const sources = digestSources();
const [dist, simulator] = folders.map((folder) => ({ folder, fresh: `${folder}.${process.pid}` }));
let compiling;
const removeUnfinished = () => {
  for (const { fresh } of [dist, simulator]) remove(fresh, `${fresh}.old`);
};
process.on("exit", () => {
  endCompiler();
  removeUnfinished();
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (compiling === undefined) process.exit(1);
    // The compiler writes until it ends.
    compiling.once("close", () => process.exit(1));
    endCompiler();
  });
}

const compiler = locateCompiler();
// Left over from a killed build with the same process id, as happens in a container.
removeUnfinished();
const { bundle } = await import("./bundle.mjs");
await Promise.all([makeDist(dist.fresh), makeSimulator(simulator.fresh)]);
const outputs = [dist, simulator].map((each) => ({ ...each, digest: digestOf(each.fresh) }));
for (const each of outputs) replace(each);
// A file edited meanwhile may be in the build, and may be changed back later.
if (digestSources() === sources) {
  writeRecord(sources, Object.fromEntries(outputs.map(({ folder, digest }) => [folder, digest])));
}

async function makeDist(fresh) {
  await compile(fresh);
  // The same command, unbundled, for tests that change single modules.
  renameSync(join(fresh, "main.js"), join(fresh, "unbundled.js"));
  await bundle(["src/main.ts"], fresh, "src/cli/serve-program.ts");
}

async function makeSimulator(fresh) {
  await bundle(["simulator/src/main.ts", "simulator/src/program.ts"], fresh);
  copyFileSync("LICENSE", join(fresh, "LICENSE"));
}

async function compile(folder) {
  const options = ["-p", "tsconfig.build.json", "--outDir", folder];
  // In its own process group: the compiler starts a process that does the work, and that must end with it.
  compiling = spawn(process.execPath, [compiler, ...options], { stdio: "inherit", detached: true });
  const [status] = await once(compiling, "close");
  compiling = undefined;
  if (status !== 0) process.exit(status ?? 1);
}

function endCompiler() {
  try {
    if (compiling !== undefined) process.kill(-compiling.pid, "SIGKILL");
  } catch {
    // The compiler has just ended.
  }
}

/**
 * Swaps names, since programs may be starting from the old folder, and another build may replace it too. An unchanged
 * folder stays in place.
 */
function replace({ folder, fresh, digest }) {
  if (digestOf(folder) === digest) return;
  const old = `${fresh}.old`;
  while (!renamed(fresh, folder, ["EEXIST", "ENOTEMPTY"])) {
    if (renamed(folder, old, ["ENOENT"])) remove(old);
  }
}

/** @param obstacles error codes that another build can cause at the same time; then false is returned */
function renamed(from, to, obstacles) {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (obstacles.includes(error.code)) return false;
    throw error;
  }
}

function remove(...paths) {
  for (const path of paths) rmSync(path, { recursive: true, force: true });
}

function locateCompiler() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
  } catch {
    process.stderr.write("The compiler is not installed. Run npm ci first.\n");
    process.exit(1);
  }
}
