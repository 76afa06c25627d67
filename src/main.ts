#!/usr/bin/env node
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import type * as serveProgram from "./cli/serve-program.ts";

const args = process.argv.slice(2);
const { run } = await (args[0] === "serve" ? loadServe() : import("./cli/program.ts"));
process.exitCode = await run(args);
// Whatever a defect (70, EX_SOFTWARE) has left open must not keep the process.
if (process.exitCode === 70) process.exit();

/**
 * In the image the program of `serve` is one script, and what V8 compiles of it at a start stands beside it: that takes 40 % off
 * the CPU of a start. V8 compiles anew where another version of V8, or other options of it, have made that.
 */
async function loadServe(): Promise<Pick<typeof serveProgram, "run">> {
  const filename = fileURLToPath(new URL("bundled/serve-script.cjs", import.meta.url));
  if (!existsSync(`${filename}.cache`)) return import("./cli/serve-program.ts");
  // As UTF-8, since V8 takes 20 ms more for a text outside of its heap.
  const script = new Script(readFileSync(filename, "utf8"), {
    filename,
    cachedData: readFileSync(`${filename}.cache`),
  });
  const module = { exports: {} };
  script.runInThisContext()(createRequire(import.meta.url), module);
  return module.exports as typeof serveProgram;
}
