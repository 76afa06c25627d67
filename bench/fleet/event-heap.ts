interface Entry {
  readonly atMs: number;
  /** Of two at one moment the earlier made comes first. */
  readonly order: number;
  task: (() => void) | undefined;
}

/** What is going to happen, the soonest first; a fleet keeps some ten thousand timers pending. */
export class EventHeap {
  readonly #entries: Entry[] = [];
  #made = 0;

  /** @returns takes it back */
  push(atMs: number, task: () => void): () => void {
    const entry: Entry = { atMs, order: this.#made++, task };
    this.#rise(entry);
    // It stays until its moment, and then does nothing: to take it out of the middle would cost more.
    return () => {
      entry.task = undefined;
    };
  }

  /** The soonest that has not been taken back. */
  pop(): { readonly atMs: number; readonly task: () => void } | undefined {
    for (let first = this.#shift(); first !== undefined; first = this.#shift()) {
      const { atMs, task } = first;
      if (task !== undefined) return { atMs, task };
    }
    return undefined;
  }

  #rise(entry: Entry): void {
    const entries = this.#entries;
    let at = entries.length;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = entries[above];
      if (parent === undefined || !isSooner(entry, parent)) break;
      entries[at] = parent;
      at = above;
    }
    entries[at] = entry;
  }

  #shift(): Entry | undefined {
    const first = this.#entries[0];
    const last = this.#entries.pop();
    if (last !== undefined && last !== first) this.#sink(last);
    return first;
  }

  #sink(entry: Entry): void {
    const entries = this.#entries;
    let at = 0;
    for (;;) {
      const left = entries[2 * at + 1];
      const right = entries[2 * at + 2];
      if (left === undefined) break;
      const isRight = right !== undefined && isSooner(right, left);
      const child = isRight ? right : left;
      if (!isSooner(child, entry)) break;
      entries[at] = child;
      at = 2 * at + (isRight ? 2 : 1);
    }
    entries[at] = entry;
  }
}

function isSooner(one: Entry, other: Entry): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
