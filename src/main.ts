#!/usr/bin/env node
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import type * as serveProgram from "./cli/serve-program.ts";
import { exitOnSignalsAsPidOne, Signals } from "./cli/signals.ts";

const args = process.argv.slice(2);
process.exitCode = await (args[0] === "serve" ? serve(new Signals()) : runOther());
// After a defect (70, EX_SOFTWARE) nothing that is still open may keep the process alive.
if (process.exitCode === 70) process.exit();

/** @param signals caught before anything is loaded */
async function serve(signals: Signals): Promise<number> {
  const { run } = await loadServe();
  return run(args, signals);
}

async function runOther(): Promise<number> {
  exitOnSignalsAsPidOne();
  const { run } = await import("./cli/program.ts");
  return run(args);
}

/**
 * In the image the program of `serve` is one script, with the code that V8 compiles at a start in a file beside it. That saves
 * 40 % of a start's CPU time. V8 compiles anew if that file is from another version of V8, or was made with other options.
 */
async function loadServe(): Promise<Pick<typeof serveProgram, "run">> {
  const filename = fileURLToPath(new URL("bundled/serve-script.cjs", import.meta.url));
  if (!existsSync(`${filename}.cache`)) return import("./cli/serve-program.ts");
  // Decoded as UTF-8, which puts the text into V8's heap: for a text outside of the heap V8 takes 20 ms longer.
  const script = new Script(readFileSync(filename, "utf8"), {
    filename,
    cachedData: readFileSync(`${filename}.cache`),
  });
  const module = { exports: {} };
  script.runInThisContext()(createRequire(import.meta.url), module);
  return module.exports as typeof serveProgram;
}
