import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from "node:fs";
import { open, readFile, stat } from "node:fs/promises";

/** A file that the configuration names. */
export interface FileContent {
  readonly bytes: Buffer;
  /** Permission bits. */
  readonly mode: number;
  /** The stamp before the content was read, as `stampOf` returns it. */
  readonly stamp: string;
}

const permissionBits = 0o777;
const longestBytes = 16_777_216;

/**
 * Reads a whole file.
 * @throws with a `code`, also for a pipe, a device, or a file longer than 16 MiB
 */
export async function readRegularFile(path: string): Promise<FileContent> {
  const stats = checkStats(await stat(path));
  return { bytes: await readFile(path), mode: stats.mode & permissionBits, stamp: stampIn(stats) };
}

/**
 * As `readRegularFile`, but synchronous, for the start: thousands of small files take a tenth of the time that Node's thread
 * pool needs. Do not use it while requests are served: a disk that hangs would stop them.
 * @param mayBePipe true for the configuration itself, which may be a shell's pipe
 */
export async function readAtOnce(path: string, mayBePipe = false): Promise<FileContent> {
  const file = openSync(path, mayBePipe ? constants.O_RDONLY : constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    if (!mayBePipe || stats.isFile()) checkStats(stats);
    return { bytes: readFileSync(file), mode: stats.mode & permissionBits, stamp: stampIn(stats) };
  } finally {
    closeSync(file);
  }
}

/**
 * Reading a pipe or a device may never end, and would block every reload; a large file would take memory that orders need.
 * A folder fails later, when it is read.
 */
function checkStats(stats: Stats): Stats {
  if (!stats.isFile() && !stats.isDirectory()) throw refuse("a pipe or a device", "no regular file");
  if (stats.size > longestBytes) throw refuse("longer than 16 MiB", "EFBIG");
  return stats;
}

function refuse(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}

/**
 * A text that changes whenever the file does; the content is not read. If opening fails: the error's code. The file is opened
 * because a network file system may answer stat(2) from memory for a minute; opening a pipe does not wait.
 */
export async function stampOf(path: string): Promise<string> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return stampIn(await file.stat());
    } finally {
      await file.close();
    }
  } catch (error) {
    return codeOf(error);
  }
}

/** Times have fractions of a microsecond. */
function stampIn({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [dev, ino, size, mtimeMs, ctimeMs].join(" ");
}

/** The error's code, which is compared in place of the content of an unreadable file. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unreadable";
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Text without a byte order mark; undefined if the bytes are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
