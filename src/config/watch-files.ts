import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Cancel, Clock } from "../model/clock.ts";
import { type FilePrints, printOf, printOfFailure } from "./file-digests.ts";

/** Some file systems tell nobody of a change, and a machine may have no more watches to give. */
const lookEveryMs = 2_000;
/** Writers write in steps: what changed counts once it has been the same for this long. */
const settleMs = 100;
const readAtOnce = 8;

/**
 * Watches the files of a configuration. Their folders are watched, because Kubernetes changes a mounted file by swapping
 * the folder's `..data` link and editors rename; what counts is the content, not that something moved.
 */
export class FileWatch {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  /** As they were when the configuration was read, or when the last change was told of. */
  #known: FilePrints = new Map();
  /** As they were at the last look. */
  #seen: FilePrints = new Map();
  #watchers: readonly FSWatcher[] = [];
  #cancelLook: Cancel = () => {};
  #lookAtMs = 0;

  /** @param onChange called once for each change of content */
  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** From now on these files, as they were when they were read. */
  follow(known: FilePrints): void {
    this.close();
    this.#known = known;
    this.#seen = known;
    this.#watchers = [...new Set([...known.keys()].map(dirname))].flatMap((folder) => this.#watch(folder));
    this.#lookAfter(lookEveryMs);
  }

  close(): void {
    this.#cancelLook();
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
    this.#known = new Map();
  }

  /** None where the folder is missing or the machine gives no watch: then the regular look has to do. */
  #watch(folder: string): FSWatcher[] {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#lookSoon());
      watcher.on("error", () => watcher.close());
      return [watcher];
    } catch {
      return [];
    }
  }

  /** Never later than it would be anyway, so that a busy folder cannot put it off. */
  #lookSoon(): void {
    if (this.#lookAtMs > this.#clock.nowMs() + settleMs) this.#lookAfter(settleMs);
  }

  #lookAfter(delayMs: number): void {
    this.#cancelLook();
    this.#lookAtMs = this.#clock.nowMs() + delayMs;
    this.#cancelLook = this.#clock.after(delayMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const known = this.#known;
    const seen = await readPrints(known.keys());
    // Meanwhile other files may have come to be followed, or none.
    if (known !== this.#known) return;
    const isSettled = areEqual(seen, this.#seen);
    this.#seen = seen;
    if (areEqual(seen, known)) return this.#lookAfter(lookEveryMs);
    if (!isSettled) return this.#lookAfter(settleMs);
    // Whoever reads them now may fail to, and is to hear of the next change all the same.
    this.#known = seen;
    this.#lookAfter(lookEveryMs);
    this.#onChange();
  }
}

/** A few at a time: thousands of files must not take all descriptors from the connections. */
async function readPrints(paths: Iterable<string>): Promise<FilePrints> {
  const prints = new Map<string, string>();
  const left = [...paths];
  const readOn = async () => {
    for (let path = left.pop(); path !== undefined; path = left.pop()) {
      prints.set(path, await readFile(path).then(printOf, printOfFailure));
    }
  };
  await Promise.all(Array.from({ length: readAtOnce }, readOn));
  return prints;
}

function areEqual(one: FilePrints, other: FilePrints): boolean {
  return [...one].every(([path, print]) => other.get(path) === print);
}
