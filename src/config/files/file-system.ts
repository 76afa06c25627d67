import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

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
 * @throws with a `code`, also for a folder, a pipe, a device, or a file longer than 16 MiB
 */
export async function readRegularFile(path: string): Promise<FileContent> {
  return withFile(path, async (file, stats) => {
    return { bytes: await file.readFile(), mode: stats.mode & permissionBits, stamp: stampIn(stats) };
  });
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
    if (!mayBePipe || stats.isFile()) checkStats(path, stats);
    return { bytes: readRest(file, stats.size), mode: stats.mode & permissionBits, stamp: stampIn(stats) };
  } finally {
    closeSync(file);
  }
}

/** @param size the file's; `readFileSync` asks for it again, and takes longer */
function readRest(file: number, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  const length = readSync(file, bytes);
  // A pipe has no size, and a file may change at this moment.
  return length === size && size > 0 ? bytes : Buffer.concat([bytes.subarray(0, length), readFileSync(file)]);
}

/**
 * A text that changes whenever the file does; the content is not read. If `readRegularFile` fails: the error's code. The path of
 * a folder ends with a slash; its stamp changes with the names in it.
 */
export function stampOf(path: string): Promise<string> {
  return withFile(path, async (_, stats) => stampIn(stats)).catch(codeOf);
}

/** Opens first, since a network file system may answer stat(2) from memory for a minute; opening a pipe does not wait. */
async function withFile<Result>(
  path: string,
  use: (file: FileHandle, stats: Stats) => Promise<Result>,
): Promise<Result> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    checkStats(path, stats);
    return await use(file, stats);
  } finally {
    await file.close();
  }
}

/** Reading a pipe or a device may never end, and would block every reload; a large file would take memory that orders need. */
function checkStats(path: string, stats: Stats): void {
  if (stats.isDirectory() && path.endsWith("/")) return;
  if (stats.isDirectory()) throw refuse("a folder", "EISDIR");
  if (!stats.isFile()) throw refuse("a pipe or a device", "no regular file");
  if (stats.size > longestBytes) throw refuse("longer than 16 MiB", "EFBIG");
}

function refuse(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}

/** Times have fractions of a microsecond. `join` makes one string; a template keeps its nine parts, for thousands of files. */
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
