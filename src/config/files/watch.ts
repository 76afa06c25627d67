import { hash } from "node:crypto";
import type { Cancel, Clock } from "../../model/clock.ts";
import { codeOf, readRegularFile, stampOf } from "./file-system.ts";

/** What a configuration was read from: by absolute path a digest of the content, or why it could not be read. */
export type FileDigests = ReadonlyMap<string, string>;

/** What a watch asks of the file system; a test may replace it. */
export interface WatchableFiles {
  read(path: string): Promise<Uint8Array>;
  /** Changes whenever the content does; takes a third of the time of reading it. */
  stamp(path: string): Promise<string>;
}

/** A folder has no content of its own: its stamp changes with the names in it. */
async function readFileOrFolder(path: string): Promise<Uint8Array> {
  try {
    return (await readRegularFile(path)).bytes;
  } catch (error) {
    if (codeOf(error) === "EISDIR") return Buffer.from(await stampOf(path));
    throw error;
  }
}

const systemFiles: WatchableFiles = { read: readFileOrFolder, stamp: stampOf };

const pollMs = 2_000;
/** Thousands of files are looked at less often: a look at one takes 0.05 ms of a processor. */
const pollMsPerFile = 2;
const longestPollMs = 5_000;
/** What has changed since the files were read is found then. */
const firstCheckMs = 300;
/** A file is often written in steps: a change counts once nothing has changed for this long. */
const stableMs = 100;
const mostConcurrent = 8;

/**
 * Watches the files of a configuration by looking at them again and again: no file system is too remote for that, and it does
 * not matter how a change is made. Kubernetes swaps a link on the way to a mounted file, and editors rename. The content counts.
 */
export class FileWatch {
  readonly #clock: Clock;
  readonly #onChange: (changed: ReadonlySet<string>) => void;
  readonly #files: WatchableFiles;
  /** As they were when the configuration was read, or at the last reported change. */
  #known: FileDigests = new Map();
  #cancelCheck: Cancel = () => {};

  /** @param onChange called once for each change of content, with the paths */
  constructor(clock: Clock, onChange: (changed: ReadonlySet<string>) => void, files = systemFiles) {
    this.#clock = clock;
    this.#onChange = onChange;
    this.#files = files;
  }

  /** Watches these files from now on, as they were when they were read. */
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
    // The reload may fail; it must learn of the next change all the same.
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
