import { readFileSync, type Stats, statSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { FileContent } from "./load-context.ts";

const permissionBits = 0o777;

/**
 * Reads a file whole.
 * @throws with a `code`, also where it is a pipe or a device: its end may never come, and until then nothing would be reloaded
 */
export async function readRegularFile(path: string): Promise<FileContent> {
  const { mode } = checkKind(await stat(path));
  return { bytes: await readFile(path), mode: mode & permissionBits };
}

/**
 * The same synchronously, for the start: thousands of small files take a tenth of the time that Node's thread pool takes.
 * Once requests are served, a disk that hangs would stop them.
 * @param mayBePipe it is the configuration itself, which a shell may write while it is checked
 */
export async function readAtOnce(path: string, mayBePipe = false): Promise<FileContent> {
  const stats = statSync(path);
  if (!mayBePipe) checkKind(stats);
  return { bytes: readFileSync(path), mode: stats.mode & permissionBits };
}

/** A folder has an error of its own, when it is read. */
function checkKind(stats: Stats): Stats {
  if (stats.isFile() || stats.isDirectory()) return stats;
  throw Object.assign(new Error("a pipe or a device"), { code: "no regular file" });
}
