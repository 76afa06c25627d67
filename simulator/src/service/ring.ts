/** The last few of a long series. */
export interface Ring<T> {
  add(item: T): void;
  /** Oldest first. */
  list(): readonly T[];
}

export function createRing<T>(limit: number): Ring<T> {
  let items: T[] = [];
  return {
    add(item) {
      items.push(item);
      // Cutting only at twice the limit keeps the cost per item constant.
      if (items.length >= limit * 2) items = items.slice(-limit);
    },
    list: () => items.slice(-limit),
  };
}
