import { WebSocket } from "undici";
import { scrape } from "../../testkit/exposition.ts";

/** One process in a calm moment, after a full garbage collection, under the usual load. */
export interface Snapshot {
  readonly atMs: number;
  readonly heapBytes: number;
  readonly residentBytes: number;
  readonly descriptors: number;
  /** The worst since the previous snapshot, as the process itself measures it. */
  readonly loopDelayP99Ms: number;
}

/** The growth of a process between its first snapshot and its last. */
export interface Growth {
  readonly process: string;
  readonly snapshots: number;
  /** To the lowest of the last snapshots: orders that waited for a fault's end hold memory for some seconds, a leak for ever. */
  readonly heapBytes: number;
  readonly residentBytes: number;
  /** The slope of the heap over all snapshots, by least squares. */
  readonly heapBytesPerMinute: number;
}

/** Open file descriptors, as the process counts them. */
export async function countDescriptors(adminUrl: string): Promise<number> {
  return (await scrape(adminUrl)).value("process_open_fds") ?? Number.NaN;
}

/** @param inspectorUrl as Node prints it at the start: `ws://127.0.0.1:port/id` */
export async function takeSnapshot(adminUrl: string, inspectorUrl: string): Promise<Snapshot> {
  // Before the collection, which itself delays the event loop.
  const metrics = await scrape(adminUrl);
  const read = (metric: string) => metrics.value(metric) ?? Number.NaN;
  return {
    atMs: performance.now(),
    heapBytes: await measureHeap(inspectorUrl),
    residentBytes: read("process_resident_memory_bytes"),
    descriptors: read("process_open_fds"),
    loopDelayP99Ms: read("nodejs_eventloop_lag_p99_seconds") * 1_000,
  };
}

/**
 * The size of a process's heap after a full garbage collection. From outside only the inspector can start one without a
 * change to the built command; the inspector is on loopback, at its own port.
 */
async function measureHeap(url: string): Promise<number> {
  const socket = new WebSocket(url);
  try {
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", () => reject(new Error(`no inspector at ${url}`)));
    });
    await ask(socket, 1, "HeapProfiler.collectGarbage");
    // The second collection takes what finalisers released after the first.
    await ask(socket, 2, "HeapProfiler.collectGarbage");
    const [, bytes] = /"usedSize":(\d+)/.exec(await ask(socket, 3, "Runtime.getHeapUsage")) ?? [];
    if (bytes === undefined) throw new Error("the inspector does not say how large the heap is");
    return Number(bytes);
  } finally {
    socket.close();
  }
}

function ask(socket: WebSocket, id: number, method: string): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.addEventListener("close", () => reject(new Error("the inspector has gone")));
    socket.addEventListener("message", ({ data }) => {
      if (JSON.parse(String(data)).id === id) resolve(String(data));
    });
    socket.send(JSON.stringify({ id, method }));
  });
}

const lastSnapshots = 3;

/** @returns undefined for a process that ended before a second snapshot */
export function measureGrowth(process: string, snapshots: readonly Snapshot[]): Growth | undefined {
  const [first] = snapshots;
  const last = snapshots.at(-1);
  if (first === undefined || last === undefined || first === last) return undefined;
  const lastHeaps = snapshots
    .slice(1)
    .slice(-lastSnapshots)
    .map(({ heapBytes }) => heapBytes);
  return {
    process,
    snapshots: snapshots.length,
    heapBytes: Math.min(...lastHeaps) - first.heapBytes,
    residentBytes: last.residentBytes - first.residentBytes,
    heapBytesPerMinute: slope(snapshots.map(({ atMs, heapBytes }) => [atMs / 60_000, heapBytes])),
  };
}

/** Least squares. */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const meanX = mean(points.map(([x]) => x));
  const meanY = mean(points.map(([, y]) => y));
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return below === 0 ? 0 : above / below;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
