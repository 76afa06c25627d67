/** One process in a calm moment, after a full garbage collection, under the same load as ever. */
export interface Snapshot {
  readonly atMs: number;
  readonly heapBytes: number;
  readonly residentBytes: number;
  readonly descriptors: number;
  /** The worst since the snapshot before, as the process itself measures it. */
  readonly loopDelayP99Ms: number;
}

/** What a process has come to hold between its first snapshot and its last. */
export interface Growth {
  readonly process: string;
  readonly snapshots: number;
  readonly heapBytes: number;
  readonly residentBytes: number;
  /** The slope of the heap over all snapshots, by least squares. */
  readonly heapBytesPerMinute: number;
}

/** @returns undefined for a process that did not live to a second snapshot */
export function measureGrowth(process: string, snapshots: readonly Snapshot[]): Growth | undefined {
  const [first] = snapshots;
  const last = snapshots.at(-1);
  if (first === undefined || last === undefined || first === last) return undefined;
  return {
    process,
    snapshots: snapshots.length,
    heapBytes: last.heapBytes - first.heapBytes,
    residentBytes: last.residentBytes - first.residentBytes,
    heapBytesPerMinute: slope(snapshots.map(({ atMs, heapBytes }) => [atMs / 60_000, heapBytes])),
  };
}

/** Least squares. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const meanX = mean(points.map(([x]) => x));
  const meanY = mean(points.map(([, y]) => y));
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return below === 0 ? 0 : above / below;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
