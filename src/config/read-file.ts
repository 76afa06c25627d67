import { readFileSync, type Stats, statSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { FileContent } from "./load-context.ts";

const permissionBits = 0o777;
const longestBytes = 16_777_216;

/**
 * Reads a file whole.
 * @throws with a `code`, also where it is a pipe or a device, or longer than 16 MiB
 */
export async function readRegularFile(path: string): Promise<FileContent> {
  const { mode } = checkStats(await stat(path));
  return { bytes: await readFile(path), mode: mode & permissionBits };
}

/**
 * The same synchronously, for the start: thousands of small files take a tenth of the time that Node's thread pool takes.
 * Once requests are served, a disk that hangs would stop them.
 * @param mayBePipe it is the configuration itself, which a shell may write while it is checked
 */
export async function readAtOnce(path: string, mayBePipe = false): Promise<FileContent> {
  const stats = statSync(path);
  if (!mayBePipe || stats.isFile()) checkStats(stats);
  return { bytes: readFileSync(path), mode: stats.mode & permissionBits };
}

/**
 * The end of a pipe or a device may never come, and until then nothing would be reloaded; a large file would take memory that
 * orders need. A folder has an error of its own, when it is read.
 */
function checkStats(stats: Stats): Stats {
  if (!stats.isFile() && !stats.isDirectory()) throw refuse("a pipe or a device", "no regular file");
  if (stats.size > longestBytes) throw refuse("longer than 16 MiB", "EFBIG");
  return stats;
}

function refuse(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}
