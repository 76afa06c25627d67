import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import type * as serveProgram from "./serve-program.ts";

const file = fileURLToPath(new URL("bundled/serve-script.cjs", import.meta.url));

/**
 * In the image the program of `serve` is one script, and what V8 compiles of it at a start stands beside it: that takes 40 % off
 * the CPU of a start. V8 compiles anew where another version of V8, or other options of it, have made that.
 */
export async function loadServe(): Promise<typeof serveProgram> {
  if (!existsSync(`${file}.cache`)) return import("./serve-program.ts");
  // As UTF-8, since V8 takes 20 ms more for a text outside of its heap.
  const script = new Script(readFileSync(file, "utf8"), { filename: file, cachedData: readFileSync(`${file}.cache`) });
  const module = { exports: {} };
  script.runInThisContext()(createRequire(import.meta.url), module);
  return module.exports as typeof serveProgram;
}
