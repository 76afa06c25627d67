/** A load, as the load process receives it. */
export type Load =
  | { readonly kind: "callers"; readonly callers: number; readonly lastsMs: number }
  | { readonly kind: "rate"; readonly perSecond: number; readonly lastsMs: number };

/** The result of a stretch of load, as its callers measured it. */
export interface Stretch {
  readonly offeredPerSecond: number;
  readonly goodputPerSecond: number;
  readonly served: number;
  /** How long each served order took. */
  readonly servedMs: readonly number[];
  readonly refusedMs: readonly number[];
  /** Answers that are neither an order nor a refusal, in words. */
  readonly strange: readonly string[];
  /** The longest stall of the load process itself: its measurements may be late by that much. */
  readonly stoodStillMs: number;
}

/** The value that this share of all values does not exceed; NaN for none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}
