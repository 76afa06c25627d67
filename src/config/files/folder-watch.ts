import { watch } from "node:fs";
import type { Cancel, Clock } from "../../model/clock.ts";
import { stampOf } from "./file-system.ts";

/** A folder whose files come and go, and the stamps of all files read for them, taken at that reading. */
export interface WatchedFolder {
  /** Ends with a slash. */
  readonly path: string;
  readonly stamps: readonly (readonly [path: string, stamp: string])[];
}

/** The source of a watch's events and stamps; a test may replace it. */
export interface FolderEvents {
  /**
   * @param onEvent gets the name of the changed file in the folder; undefined: any file may have changed
   * @returns a function that ends the watching
   */
  watch(path: string, onEvent: (name: string | undefined) => void): Cancel;
  stamp(path: string): Promise<string>;
}

/** A file is often written in steps, and many files one after another: all are reported after this quiet time. */
const quietMs = 100;
/** The first change waits no longer than this, even if changes never stop. */
const longestWaitMs = 1_000;
/** To check 1,000 files a second takes 5 % of a processor. At this pace, 20,000 files take a minute. */
const looksAtOnce = 32;
const pauseMs = 100;
/** Between one round and the next. */
const roundMs = 2_000;

/**
 * Watches folders with thousands of files. The system reports a change in a folder at once. In addition all files are checked,
 * a few at a time: some are in other folders, and some file systems report nothing.
 */
export class FolderWatch {
  readonly #clock: Clock;
  readonly #onChange: (changed: ReadonlySet<string>) => void;
  readonly #events: FolderEvents;
  #watched: readonly Cancel[] = [];
  #stamps: ReadonlyMap<string, string> = new Map();
  #changed = new Set<string>();
  #changedSinceMs = 0;
  #cancelReport: Cancel = () => {};
  #cancelLook: Cancel = () => {};
  #isLooking = false;

  /** @param onChange gets the paths that may have changed; the path of a folder means all of its files */
  constructor(clock: Clock, onChange: (changed: ReadonlySet<string>) => void, events = systemEvents) {
    this.#clock = clock;
    this.#onChange = onChange;
    this.#events = events;
  }

  /** Watches these folders, and no others, from now on. */
  follow(folders: readonly WatchedFolder[]): void {
    const former = this.#watched;
    // Anew each time, since a path may lead to another folder by now: the system watches the folder, not its path.
    this.#watched = folders.map(({ path }) => this.#events.watch(path, (name) => this.#note(path, name)));
    for (const end of former) end();
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
    else if (!name.startsWith(".")) this.#add(`${folder}${name}`);
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

  /** @param left the paths that this round has not checked yet */
  #lookAfter(delayMs: number, left: string[]): void {
    this.#cancelLook = this.#clock.after(delayMs, () => void this.#look(left));
  }

  async #look(left: string[]): Promise<void> {
    const round = left.length > 0 ? left : [...this.#stamps.keys()];
    for (const path of round.splice(-looksAtOnce)) {
      const known = this.#stamps.get(path);
      const stamp = known === undefined ? known : await this.#events.stamp(path);
      // The file may have been read again in the meantime.
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
      // The files are still checked one by one.
      watcher.on("error", () => watcher.close());
      return () => watcher.close();
    } catch {
      return () => {};
    }
  },
  stamp: stampOf,
};
