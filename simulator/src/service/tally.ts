/** A count that can be awaited, so that a test need not poll. */
export interface Tally {
  readonly count: number;
  add(): void;
  /** Resolves as soon as the count is at least this. */
  whenReached(count: number): Promise<void>;
}

export function createTally(): Tally {
  let count = 0;
  let waiting: { readonly wanted: number; readonly wake: () => void }[] = [];
  return {
    get count() {
      return count;
    },
    add() {
      count += 1;
      if (waiting.length === 0) return;
      const reached = waiting.filter((waiter) => waiter.wanted <= count);
      waiting = waiting.filter((waiter) => waiter.wanted > count);
      for (const waiter of reached) waiter.wake();
    },
    whenReached(wanted) {
      if (wanted <= count) return Promise.resolve();
      return new Promise((wake) => waiting.push({ wanted, wake }));
    },
  };
}
