import { hash } from "node:crypto";
import { watch } from "node:fs";
import { dirname } from "node:path";
import type { Cancel, Clock } from "../../model/clock.ts";
import { codeOf, readRegularFile, stampOf } from "./file-system.ts";

/** The files of a configuration, by absolute path: a digest of the content, or the code of the error. A folder's path ends with a slash. */
export type FileDigests = ReadonlyMap<string, string>;

/** A folder whose files come and go. */
export interface WatchedFolder {
  /** Ends with a slash. */
  readonly path: string;
  /** Of all files read for them, by path. A later reading may change the stamps; for other paths it makes another map. */
  readonly stamps: ReadonlyMap<string, string>;
}

export interface WatchedFiles {
  readonly files: FileDigests;
  /** Folders of sites; `files` has the stamps of the folders themselves. */
  readonly folders: readonly WatchedFolder[];
}

/** The functions of the file system that a watch uses; a test may replace them. */
export interface WatchableFiles {
  read(path: string): Promise<Uint8Array>;
  /** Changes whenever the content does; takes a third of the time of `read`. */
  stamp(path: string): Promise<string>;
  /**
   * @param onEvent gets the name of the changed file in the folder; undefined: any file may have changed
   * @returns a function that ends the watching
   */
  watch(folder: string, onEvent: (name: string | undefined) => void): Cancel;
}

const pollMs = 2_000;
/** Thousands of files are checked less often: one check takes 0.05 ms of a processor. */
const pollMsPerFile = 2;
const longestPollMs = 5_000;
/** The delay of the first check, which finds changes made since the files were read. */
const firstCheckMs = 300;
/** A file is often written in steps, and many files one after another: a change is reported once nothing else has changed for this long. */
const stableMs = 100;
/** A change in a folder waits no longer than this, even if changes never stop. */
const longestWaitMs = 1_000;
/** Reports of changes in folders are so far apart: among thousands of files each takes some tens of milliseconds. */
const apartMs = 500;
/** Files of folders are checked at a pace that takes 2 % of a processor; 20,000 files take a minute. */
const folderFilesAtOnce = 32;
const pauseMs = 100;
const mostConcurrent = 8;
/** So many folders of secrets are watched: each takes a watch of the system, and some microseconds at each reload. */
const mostBeside = 1_000;

/**
 * Watches the files of a configuration by polling: that works on every file system, and for every kind of change. Kubernetes
 * swaps a link in the path of a mounted file, and editors rename files. Only a change of content is reported.
 *
 * Folders may have thousands of files, which name others, such as secrets. The system reports a change in the folder of a file
 * at once. In addition, all files are checked by their stamps, a few at a time, since some file systems report nothing.
 */
export class FileWatch {
  readonly #clock: Clock;
  readonly #onChange: (changed: ReadonlySet<string>) => void;
  readonly #system: WatchableFiles;
  /** The digests when the configuration was read, or at the last reported change. */
  #digests: FileDigests = new Map();
  #cancelCheck: Cancel = () => {};
  #watchedFolders: Cancel[] = [];
  #folders: readonly WatchedFolder[] = [];
  #isCheckingFolders = false;
  #cancelFolderCheck: Cancel = () => {};
  /** Changes in folders that have not been reported yet. */
  #changed = new Set<string>();
  #changedSinceMs = 0;
  #reportedMs = Number.NEGATIVE_INFINITY;
  #cancelReport: Cancel = () => {};

  /** @param onChange gets the paths that may have changed; the path of a folder means all of its files */
  constructor(clock: Clock, onChange: (changed: ReadonlySet<string>) => void, system = systemFiles) {
    this.#clock = clock;
    this.#onChange = onChange;
    this.#system = system;
  }

  /** Watches these files and folders, and no others, from now on. */
  follow({ files, folders }: WatchedFiles): void {
    this.#digests = files;
    this.#checkAfter(firstCheckMs);
    const former = this.#watchedFolders;
    // Anew each time, since a path may lead to another folder by now: the system watches the folder, not its path.
    this.#watchedFolders = folders.map(({ path }) => this.#system.watch(path, (name) => this.#addFrom(path, name)));
    this.#folders = folders;
    for (const path of this.#listBeside()) {
      this.#watchedFolders.push(this.#system.watch(path, (name) => this.#addBeside(path, name)));
    }
    for (const end of former) end();
    if (this.#isCheckingFolders || !this.#hasFolderFiles) return;
    this.#isCheckingFolders = true;
    this.#checkFoldersAfter(pollMs, []);
  }

  close(): void {
    this.follow({ files: new Map(), folders: [] });
    this.#cancelFolderCheck();
    this.#cancelReport();
  }

  /**
   * @param seen the stamps of the last check
   * @param isRead whether the content was compared since these stamps
   */
  #checkAfter(delayMs: number, seen: FileDigests = new Map(), isRead = false): void {
    this.#cancelCheck();
    if (this.#digests.size === 0) return;
    this.#cancelCheck = this.#clock.after(delayMs, () => void this.#check(seen, isRead));
  }

  async #check(seen: FileDigests, isRead: boolean): Promise<void> {
    const known = this.#digests;
    const stamps = await askEach(known.keys(), (path) => this.#system.stamp(path));
    const isStable = findChanged(stamps, seen).length === 0;
    const read = (path: string) => this.#system.read(path).then(digestOf, codeOf);
    const digests = isStable && !isRead ? await askEach(known.keys(), read) : known;
    // Meanwhile follow or close may have been called.
    if (known !== this.#digests) return;
    const longMs = Math.min(Math.max(pollMs, known.size * pollMsPerFile), longestPollMs);
    this.#checkAfter(isStable ? longMs : stableMs, stamps, isStable);
    const changed = findChanged(digests, known);
    if (changed.length === 0) return;
    // Even if the reload fails, the next change must be reported.
    this.#digests = digests;
    this.#onChange(new Set(changed));
  }

  /** @param left the paths that this round has not checked yet */
  #checkFoldersAfter(delayMs: number, left: string[]): void {
    this.#cancelFolderCheck = this.#clock.after(delayMs, () => void this.#checkFolders(left));
  }

  async #checkFolders(left: string[]): Promise<void> {
    const round = left.length > 0 ? left : this.#folders.flatMap(({ stamps }) => [...stamps.keys()]);
    const known = new Map(round.splice(-folderFilesAtOnce).map((path) => [path, this.#stampAt(path)]));
    const stamps = await askEach(known.keys(), (path) => this.#system.stamp(path));
    for (const [path, stamp] of stamps) {
      const before = known.get(path);
      // A file may have been read again in the meantime.
      if (before !== undefined && before !== stamp && before === this.#stampAt(path)) this.#add(path);
    }
    this.#isCheckingFolders = this.#hasFolderFiles;
    if (this.#isCheckingFolders) this.#checkFoldersAfter(round.length > 0 ? pauseMs : pollMs, round);
  }

  #addFrom(folder: string, name = ".."): void {
    // Kubernetes and git-sync change a whole folder by one link, whose name begins with two dots.
    if (name.startsWith("..")) this.#add(folder);
    else if (!name.startsWith(".")) this.#add(`${folder}${name}`);
  }

  get #hasFolderFiles(): boolean {
    return this.#folders.some(({ stamps }) => stamps.size > 0);
  }

  #stampAt(path: string): string | undefined {
    return this.#folders.find(({ stamps }) => stamps.has(path))?.stamps.get(path);
  }

  /** The folders of files that the sites' files name. */
  #listBeside(): readonly string[] {
    const all = new Set(this.#folders.flatMap(({ stamps }) => [...foldersOf(stamps)]));
    for (const { path } of this.#folders) all.delete(path);
    return [...all].slice(0, mostBeside);
  }

  /** Other files in the folder, such as a log, are no concern of ours. */
  #addBeside(folder: string, name = ".."): void {
    const isAny = name.startsWith("..");
    const all = isAny ? this.#folders.flatMap(({ stamps }) => [...stamps.keys()]) : [`${folder}${name}`];
    for (const path of all) if (path.startsWith(folder) && this.#stampAt(path) !== undefined) this.#add(path);
  }

  #add(path: string): void {
    const nowMs = this.#clock.nowMs();
    if (this.#changed.size === 0) this.#changedSinceMs = nowMs;
    this.#changed.add(path);
    this.#cancelReport();
    const waitMs = Math.min(stableMs, this.#changedSinceMs + longestWaitMs - nowMs);
    this.#cancelReport = this.#clock.after(Math.max(waitMs, this.#reportedMs + apartMs - nowMs, 0), () => {
      this.#reportedMs = this.#clock.nowMs();
      const changed = this.#changed;
      this.#changed = new Set();
      this.#onChange(changed);
    });
  }
}

const systemFiles: WatchableFiles = {
  /** A folder has no content of its own: its stamp changes with the names in it. */
  read: async (path) => (path.endsWith("/") ? Buffer.from(await stampOf(path)) : (await readRegularFile(path)).bytes),
  stamp: stampOf,
  watch(folder, onEvent) {
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => onEvent(name ?? undefined));
      // The files are still checked one by one.
      watcher.on("error", () => watcher.close());
      return () => watcher.close();
    } catch {
      return () => {};
    }
  },
};

const foldersKnown = new WeakMap<WatchedFolder["stamps"], ReadonlySet<string>>();

/** The folders of these files, found once: a map keeps its paths. */
function foldersOf(stamps: WatchedFolder["stamps"]): ReadonlySet<string> {
  const folders = foldersKnown.get(stamps) ?? new Set([...stamps.keys()].map((path) => `${dirname(path)}/`));
  foldersKnown.set(stamps, folders);
  return folders;
}

/** A few at a time: thousands of files must not take all descriptors from the connections. */
async function askEach(paths: Iterable<string>, ask: (path: string) => Promise<string>): Promise<FileDigests> {
  const answers = new Map<string, string>();
  const left = [...paths];
  const worker = async () => {
    for (let path = left.pop(); path !== undefined; path = left.pop()) answers.set(path, await ask(path));
  };
  await Promise.all(Array.from({ length: mostConcurrent }, worker));
  return answers;
}

function findChanged(now: FileDigests, before: FileDigests): string[] {
  return [...now].flatMap(([path, digest]) => (before.get(path) === digest ? [] : [path]));
}

export function digestOf(bytes: Uint8Array): string {
  return hash("sha256", bytes);
}
