import { readFileSync, type Stats, statSync, watch } from "node:fs";
import { readFile, readlink, stat, statfs } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, sep } from "node:path";

/** A file that the configuration names. */
export interface FileContent {
  readonly bytes: Buffer;
  /** Permission bits. */
  readonly mode: number;
}

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

/** What a watch asks of the file system; a test may replace it. */
export interface WatchableFiles {
  readFile(path: string): Promise<Uint8Array>;
  /** Where a symbolic link leads; undefined for all else, and where nothing is. */
  readLink(path: string): Promise<string | undefined>;
  /**
   * @param onEvent gets the name of what has changed in the folder, where the kernel says it
   * @throws where the folder is missing, or the machine has no more watches to give
   */
  watchFolder(folder: string, onEvent: (name: string | undefined) => void): Promise<WatchedFolder>;
}

export interface WatchedFolder {
  /** Whether the kernel tells of every change: not where another machine can change files. */
  readonly tellsAll: boolean;
  close(): void;
}

/** By statfs(2): ext2 to 4, XFS, Btrfs, F2FS, ZFS, tmpfs, ramfs and overlayfs. */
const toldOf: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994, 0x858458f6, 0x794c7630,
]);

export const systemFiles: WatchableFiles = {
  readFile: async (path) => (await readRegularFile(path)).bytes,
  readLink: (path) => readlink(path).catch(() => undefined),
  async watchFolder(folder, onEvent) {
    const watcher = watch(folder, { persistent: false }, (_, name) => onEvent(name ?? undefined));
    watcher.on("error", () => {
      watcher.close();
      onEvent(undefined);
    });
    const { type } = await statfs(folder).catch(() => ({ type: 0 }));
    return { tellsAll: toldOf.has(type), close: () => watcher.close() };
  },
};

/** As many as Linux follows for one path (path_resolution(7)). */
const mostLinks = 40;

/**
 * The folders on which it depends what stands at these paths, each with the names in it that count: of the files, and of every
 * symbolic link on the way to them.
 */
export async function findFolders(
  paths: Iterable<string>,
  files: WatchableFiles,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const found = new Map<string, Set<string>>();
  const links = new Map<string, Promise<string | undefined>>();
  const linkAt = (path: string) => {
    const known = links.get(path) ?? files.readLink(path);
    links.set(path, known);
    return known;
  };
  const add = (path: string) => {
    const folder = dirname(path);
    // A folder that is moved or removed is told of by its own name.
    const names = found.get(folder) ?? new Set([basename(folder)]);
    found.set(folder, names.add(basename(path)));
  };
  for (const path of paths) {
    let at: string = sep;
    let left = path.split(sep);
    for (let linksLeft = mostLinks; left.length > 0 && linksLeft > 0; ) {
      const [name = "", ...rest] = left;
      left = rest;
      const next = join(at, name);
      const target = next === at ? undefined : await linkAt(next);
      if (target !== undefined) {
        add(next);
        left = [...target.split(sep), ...rest];
        if (isAbsolute(target)) at = sep;
        linksLeft -= 1;
      } else {
        if (rest.length === 0) add(next);
        at = next;
      }
    }
  }
  return found;
}
