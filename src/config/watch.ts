import { createHash } from "node:crypto";
import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Cancel, Clock } from "../model/clock.ts";

/** What a configuration was read from: by absolute path a digest of the content, or why it could not be read. */
export type FileDigests = ReadonlyMap<string, string>;

/** Some file systems report no change, and a machine may have no more watches to give. */
const pollEveryMs = 2_000;
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
  /** As they were when the configuration was read, or at the last reported change. */
  #known: FileDigests = new Map();
  /** As they were at the last check. */
  #seen: FileDigests = new Map();
  #watchers: readonly FSWatcher[] = [];
  #cancelCheck: Cancel = () => {};
  #checkAtMs = 0;

  /** @param onChange called once for each change of content */
  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** Watches these files from now on, as they were when they were read. */
  follow(known: FileDigests): void {
    this.close();
    this.#known = known;
    this.#seen = known;
    this.#watchers = [...new Set([...known.keys()].map(dirname))].flatMap((folder) => this.#watch(folder));
    this.#checkAfter(pollEveryMs);
  }

  close(): void {
    this.#cancelCheck();
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
    this.#known = new Map();
  }

  /** None where the folder is missing or the machine gives no watch: then polling has to do. */
  #watch(folder: string): FSWatcher[] {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#checkSoon());
      watcher.on("error", () => watcher.close());
      return [watcher];
    } catch {
      return [];
    }
  }

  /** Never later than planned, so that a busy folder cannot put the check off. */
  #checkSoon(): void {
    if (this.#checkAtMs > this.#clock.nowMs() + stableMs) this.#checkAfter(stableMs);
  }

  #checkAfter(delayMs: number): void {
    this.#cancelCheck();
    this.#checkAtMs = this.#clock.nowMs() + delayMs;
    this.#cancelCheck = this.#clock.after(delayMs, () => void this.#check());
  }

  async #check(): Promise<void> {
    const known = this.#known;
    const seen = await readDigests(known.keys());
    // Meanwhile follow or close may have been called.
    if (known !== this.#known) return;
    const isStable = areEqual(seen, this.#seen);
    this.#seen = seen;
    if (areEqual(seen, known)) return this.#checkAfter(pollEveryMs);
    if (!isStable) return this.#checkAfter(stableMs);
    // The reload may fail; it must learn of the next change all the same.
    this.#known = seen;
    this.#checkAfter(pollEveryMs);
    this.#onChange();
  }
}

/** A few at a time: thousands of files must not take all descriptors from the connections. */
async function readDigests(paths: Iterable<string>): Promise<FileDigests> {
  const digests = new Map<string, string>();
  const left = [...paths];
  const readOn = async () => {
    for (let path = left.pop(); path !== undefined; path = left.pop()) {
      digests.set(path, await readFile(path).then(digestOf, digestOfFailure));
    }
  };
  await Promise.all(Array.from({ length: mostConcurrentReads }, readOn));
  return digests;
}

function areEqual(one: FileDigests, other: FileDigests): boolean {
  return [...one].every(([path, digest]) => other.get(path) === digest);
}

export function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Stands for the content of a file that cannot be read. */
export function digestOfFailure(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unreadable";
}
