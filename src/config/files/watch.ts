import { hash } from "node:crypto";
import type { Cancel, Clock } from "../../model/clock.ts";
import { findFolders, systemFiles, type WatchableFiles, type WatchedFolder } from "./file-system.ts";

/** What a configuration was read from: by absolute path a digest of the content, or why it could not be read. */
export type FileDigests = ReadonlyMap<string, string>;

/** Some file systems report no change, and a machine may have no more watches to give. */
const pollOftenMs = 2_000;
/** Where the kernel tells of every change: for what no watch sees, such as another file system that is mounted over a folder. */
const pollSeldomMs = 30_000;
/** What has changed between the reading of the files and the watching of their folders is found then. */
const firstCheckMs = 300;
/** A file is often written in steps: a change counts once the content has been the same for this long. */
const stableMs = 100;
const mostConcurrentReads = 8;

/**
 * Watches the files of a configuration. Their folders are watched, because Kubernetes changes a mounted file by swapping
 * the folder's `..data` link and editors rename; the content counts, not that something moved.
 */
export class FileWatch {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #files: WatchableFiles;
  /** As they were when the configuration was read, or at the last reported change. */
  #known: FileDigests = new Map();
  /** As they were at the last check. */
  #seen: FileDigests = new Map();
  #folders: readonly WatchedFolder[] = [];
  #cancelCheck: Cancel = () => {};
  #checkAtMs = 0;
  /** Told since the last check began. */
  #isTouched = false;

  /** @param onChange called once for each change of content */
  constructor(clock: Clock, onChange: () => void, files = systemFiles) {
    this.#clock = clock;
    this.#onChange = onChange;
    this.#files = files;
  }

  /** Watches these files from now on, as they were when they were read. */
  follow(known: FileDigests): void {
    this.close();
    this.#known = known;
    this.#seen = known;
    this.#checkAfter(firstCheckMs);
    void this.#watchFolders();
  }

  close(): void {
    this.#cancelCheck();
    this.#known = new Map();
    this.#replaceFolders([]);
  }

  /**
   * Anew at each check, since a folder may be another one by now.
   * @returns how long the next poll can wait
   */
  async #watchFolders(): Promise<number> {
    const known = this.#known;
    const wanted = await findFolders(known.keys(), this.#files);
    const opened = await Promise.all([...wanted].map(([folder, names]) => this.#watch(folder, names)));
    const folders = opened.filter((folder) => folder !== undefined);
    if (known === this.#known) this.#replaceFolders(folders);
    else for (const folder of folders) folder.close();
    const isTold = folders.length === opened.length && folders.every(({ tellsAll }) => tellsAll);
    return isTold ? pollSeldomMs : pollOftenMs;
  }

  #watch(folder: string, names: ReadonlySet<string>): Promise<WatchedFolder | undefined> {
    const onEvent = (name: string | undefined) => {
      if (name === undefined || names.has(name)) this.#checkSoon();
    };
    return this.#files.watchFolder(folder, onEvent).catch(() => undefined);
  }

  #replaceFolders(folders: readonly WatchedFolder[]): void {
    for (const folder of this.#folders) folder.close();
    this.#folders = folders;
  }

  /** Never later than planned, so that a busy folder cannot put the check off. */
  #checkSoon(): void {
    this.#isTouched = true;
    if (this.#checkAtMs > this.#clock.nowMs() + stableMs) this.#checkAfter(stableMs);
  }

  #checkAfter(delayMs: number): void {
    this.#cancelCheck();
    this.#checkAtMs = this.#clock.nowMs() + delayMs;
    this.#cancelCheck = this.#clock.after(delayMs, () => void this.#check());
  }

  async #check(): Promise<void> {
    const known = this.#known;
    this.#isTouched = false;
    // First, so that no change falls between.
    const pollMs = await this.#watchFolders();
    const seen = await readDigests(known.keys(), this.#files);
    // Meanwhile follow or close may have been called.
    if (known !== this.#known) return;
    const isStable = areEqual(seen, this.#seen);
    this.#seen = seen;
    if (areEqual(seen, known)) return this.#checkAfter(this.#isTouched ? stableMs : pollMs);
    if (!isStable) return this.#checkAfter(stableMs);
    // The reload may fail; it must learn of the next change all the same.
    this.#known = seen;
    this.#checkAfter(this.#isTouched ? stableMs : pollMs);
    this.#onChange();
  }
}

/** A few at a time: thousands of files must not take all descriptors from the connections. */
async function readDigests(paths: Iterable<string>, files: WatchableFiles): Promise<FileDigests> {
  const digests = new Map<string, string>();
  const left = [...paths];
  const readOn = async () => {
    for (let path = left.pop(); path !== undefined; path = left.pop()) {
      digests.set(path, await files.readFile(path).then(digestOf, digestOfFailure));
    }
  };
  await Promise.all(Array.from({ length: mostConcurrentReads }, readOn));
  return digests;
}

function areEqual(one: FileDigests, other: FileDigests): boolean {
  return [...one].every(([path, digest]) => other.get(path) === digest);
}

export function digestOf(bytes: Uint8Array): string {
  return hash("sha256", bytes);
}

/** Stands for the content of a file that cannot be read. */
export function digestOfFailure(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unreadable";
}
