import type { Column } from "../table.ts";
import type { Measured } from "./measure.ts";
import { percentile } from "./stretch.ts";
import { shareOfPeak } from "./verdict.ts";

export const columns: readonly Column<Measured, readonly Measured[]>[] = [
  { title: "load", width: 6, show: ({ times }) => (times === undefined ? "peak" : `${times} x`) },
  { title: "offered/s", width: 10, show: ({ offeredPerSecond }) => offeredPerSecond.toFixed(0) },
  { title: "goodput/s", width: 10, show: ({ goodputPerSecond }) => goodputPerSecond.toFixed(1) },
  { title: "of peak", width: 9, show: (measured, all) => `${(100 * shareOfPeak(measured, all)).toFixed(1)} %` },
  { title: "refused", width: 8, show: ({ refusedMs }) => `${refusedMs.length}` },
  { title: "refusal p50", width: 12, show: ({ refusedMs }) => formatMs(percentile(refusedMs, 0.5)) },
  { title: "p99", width: 9, show: ({ refusedMs }) => formatMs(percentile(refusedMs, 0.99)) },
  { title: "served p99", width: 11, show: ({ servedMs }) => formatMs(percentile(servedMs, 0.99)) },
  { title: "/livez p99", width: 11, show: ({ liveMs }) => formatMs(percentile(liveMs, 0.99)) },
  { title: "slowest", width: 9, show: ({ liveMs }) => formatMs(Math.max(...liveMs)) },
  { title: "caller stood still", width: 19, show: ({ stoodStillMs }) => formatMs(stoodStillMs) },
];

function formatMs(ms: number): string {
  return Number.isFinite(ms) ? `${ms.toFixed(1)} ms` : "-";
}
