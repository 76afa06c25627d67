import { hash } from "node:crypto";
import type { Cancel, Clock } from "../../model/clock.ts";
import { codeOf, readRegularFile, stampOf } from "./file-system.ts";

/** The files of a configuration, by absolute path: a digest of the content, or the code of the error. A folder's path ends with a slash. */
export type FileDigests = ReadonlyMap<string, string>;

/** The functions of the file system that a watch uses; a test may replace them. */
export interface WatchableFiles {
  read(path: string): Promise<Uint8Array>;
  /** Changes whenever the content does; takes a third of the time of `read`. */
  stamp(path: string): Promise<string>;
}

const systemFiles: WatchableFiles = {
  /** A folder has no content of its own: its stamp changes with the names in it. */
  read: async (path) => (path.endsWith("/") ? Buffer.from(await stampOf(path)) : (await readRegularFile(path)).bytes),
  stamp: stampOf,
};

const pollMs = 2_000;
/** Thousands of files are checked less often: one check takes 0.05 ms of a processor. */
const pollMsPerFile = 2;
const longestPollMs = 5_000;
/** The delay of the first check, which finds changes made since the files were read. */
const firstCheckMs = 300;
/** A file is often written in steps: a change is reported once nothing else has changed for this long. */
const stableMs = 100;
const mostConcurrent = 8;

/**
 * Watches the files of a configuration by polling: that works on every file system, and for every kind of change. Kubernetes
 * swaps a link in the path of a mounted file, and editors rename files. Only a change of content is reported.
 */
export class FileWatch {
  readonly #clock: Clock;
  readonly #onChange: (changed: ReadonlySet<string>) => void;
  readonly #files: WatchableFiles;
  /** The digests when the configuration was read, or at the last reported change. */
  #known: FileDigests = new Map();
  #cancelCheck: Cancel = () => {};

  /** @param onChange called once for each change of content, with the paths */
  constructor(clock: Clock, onChange: (changed: ReadonlySet<string>) => void, files = systemFiles) {
    this.#clock = clock;
    this.#onChange = onChange;
    this.#files = files;
  }

  /** Watches these files from now on. @param known their digests when they were read */
  follow(known: FileDigests): void {
    this.#known = known;
    this.#checkAfter(firstCheckMs);
  }

  close(): void {
    this.#known = new Map();
    this.#cancelCheck();
  }

  /**
   * @param seen the stamps of the last check
   * @param isRead whether the content was compared since these stamps
   */
  #checkAfter(delayMs: number, seen: FileDigests = new Map(), isRead = false): void {
    this.#cancelCheck();
    this.#cancelCheck = this.#clock.after(delayMs, () => void this.#check(seen, isRead));
  }

  async #check(seen: FileDigests, isRead: boolean): Promise<void> {
    const known = this.#known;
    const stamps = await askEach(known.keys(), (path) => this.#files.stamp(path));
    const isStable = areEqual(stamps, seen);
    const read = (path: string) => this.#files.read(path).then(digestOf, codeOf);
    const digests = isStable && !isRead ? await askEach(known.keys(), read) : known;
    // Meanwhile follow or close may have been called.
    if (known !== this.#known) return;
    const longMs = Math.min(Math.max(pollMs, known.size * pollMsPerFile), longestPollMs);
    this.#checkAfter(isStable ? longMs : stableMs, stamps, isStable);
    if (areEqual(digests, known)) return;
    // Even if the reload fails, the next change must be reported.
    this.#known = digests;
    this.#onChange(new Set([...digests].flatMap(([path, digest]) => (known.get(path) === digest ? [] : [path]))));
  }
}

/** A few at a time: thousands of files must not take all descriptors from the connections. */
async function askEach(paths: Iterable<string>, ask: (path: string) => Promise<string>): Promise<FileDigests> {
  const answers = new Map<string, string>();
  const left = [...paths];
  const askOn = async () => {
    for (let path = left.pop(); path !== undefined; path = left.pop()) answers.set(path, await ask(path));
  };
  await Promise.all(Array.from({ length: mostConcurrent }, askOn));
  return answers;
}

function areEqual(one: FileDigests, other: FileDigests): boolean {
  return [...one].every(([path, digest]) => other.get(path) === digest);
}

export function digestOf(bytes: Uint8Array): string {
  return hash("sha256", bytes);
}
