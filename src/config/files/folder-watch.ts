import { watch } from "node:fs";
import type { Cancel, Clock } from "../../model/clock.ts";
import { stampOf } from "./file-system.ts";

/** A folder of files that come and go one by one, and the stamps of all files that they rest on, as they were when they were read. */
export interface WatchedFolder {
  readonly path: string;
  readonly stamps: readonly (readonly [path: string, stamp: string])[];
}

/** How a watch learns of changes; a test may replace it. */
export interface FolderEvents {
  /**
   * @param onEvent gets the name of what has changed in the folder; undefined where any may have
   * @returns ends the watching
   */
  watch(path: string, onEvent: (name: string | undefined) => void): Cancel;
  stamp(path: string): Promise<string>;
}

/** A file is often written in steps, and many files one after another: all count once it is quiet for so long. */
const quietMs = 100;
/** Changes that never end do not keep the first waiting. */
const longestWaitMs = 1_000;
/** Of a thousand files a second a look takes 5 % of a processor; 20,000 are gone over in a minute. */
const looksAtOnce = 32;
const pauseMs = 100;
/** Between one round and the next. */
const roundMs = 2_000;

/**
 * Watches folders with thousands of files. The system tells of a change in a folder at once. Beside that all files are looked
 * at, a few at a time: those elsewhere, and those of file systems that tell of nothing.
 */
export class FolderWatch {
  readonly #clock: Clock;
  readonly #onChange: (changed: ReadonlySet<string>) => void;
  readonly #events: FolderEvents;
  readonly #watched = new Map<string, Cancel>();
  #stamps: ReadonlyMap<string, string> = new Map();
  #changed = new Set<string>();
  #changedSinceMs = 0;
  #cancelReport: Cancel = () => {};
  #cancelLook: Cancel = () => {};
  #isLooking = false;

  /** @param onChange gets the paths that may have changed: of files, or of a folder for all of its files */
  constructor(clock: Clock, onChange: (changed: ReadonlySet<string>) => void, events = systemEvents) {
    this.#clock = clock;
    this.#onChange = onChange;
    this.#events = events;
  }

  /** Watches these from now on. */
  follow(folders: readonly WatchedFolder[]): void {
    const paths = new Set(folders.map(({ path }) => path));
    for (const [path, end] of this.#watched) {
      if (paths.has(path)) continue;
      end();
      this.#watched.delete(path);
    }
    for (const path of paths) {
      if (this.#watched.has(path)) continue;
      const end = this.#events.watch(path, (name) => this.#note(path, name));
      this.#watched.set(path, end);
    }
    this.#stamps = new Map(folders.flatMap(({ stamps }) => stamps));
    if (this.#isLooking || this.#stamps.size === 0) return;
    this.#isLooking = true;
    this.#lookAfter(roundMs, []);
  }

  close(): void {
    this.follow([]);
    this.#cancelReport();
    this.#cancelLook();
  }

  #note(folder: string, name = ".."): void {
    // Kubernetes and git-sync change a whole folder by one link, whose name begins with two dots.
    if (name.startsWith("..")) this.#add(folder);
    else if (!name.startsWith(".")) this.#add(`${folder}/${name}`);
  }

  #add(path: string): void {
    const nowMs = this.#clock.nowMs();
    if (this.#changed.size === 0) this.#changedSinceMs = nowMs;
    this.#changed.add(path);
    this.#cancelReport();
    const waitMs = Math.min(quietMs, Math.max(0, this.#changedSinceMs + longestWaitMs - nowMs));
    this.#cancelReport = this.#clock.after(waitMs, () => {
      const changed = this.#changed;
      this.#changed = new Set();
      this.#onChange(changed);
    });
  }

  /** @param left what this round has not looked at yet */
  #lookAfter(delayMs: number, left: string[]): void {
    this.#cancelLook = this.#clock.after(delayMs, () => void this.#look(left));
  }

  async #look(left: string[]): Promise<void> {
    const round = left.length > 0 ? left : [...this.#stamps.keys()];
    for (const path of round.splice(-looksAtOnce)) {
      const known = this.#stamps.get(path);
      const stamp = known === undefined ? known : await this.#events.stamp(path);
      // Meanwhile it may have been read again.
      if (stamp !== known && this.#stamps.get(path) === known) this.#add(path);
    }
    if (this.#stamps.size > 0) this.#lookAfter(round.length > 0 ? pauseMs : roundMs, round);
    else this.#isLooking = false;
  }
}

const systemEvents: FolderEvents = {
  watch(path, onEvent) {
    try {
      const watcher = watch(path, { persistent: false }, (_, name) => onEvent(name ?? undefined));
      // The folder is looked at all the same.
      watcher.on("error", () => watcher.close());
      return () => watcher.close();
    } catch {
      return () => {};
    }
  },
  stamp: stampOf,
};
