import type { Clock } from "../model/clock.ts";
import {
  everySite,
  type ForcedCount,
  type ForcedCounts,
  type ForcedRefreshes,
  forcedRefreshMemoryMs,
} from "./token-store.ts";

/** A site's first window, in which its 401s force no refresh; each further useless refresh in a row doubles it. */
export const firstWindowMs = 10_000;
const longestWindowMs = 900_000;

/** What this replica counted, and what it read of the other replicas' counts, by site and under `everySite`. */
export class ForcedRefreshCounts {
  readonly #clock: Clock;
  /** Bounded by the configured sites. */
  readonly #counts = new Map<string, ForcedCount & { readonly atMs: number; readonly isOwn: boolean }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The count as it is now: what was spent has come back evenly since. */
  of(name: string): ForcedRefreshes {
    const { useless = 0, spentMs = 0, atMs = Number.NEGATIVE_INFINITY } = this.#counts.get(name) ?? {};
    const ageMs = this.#clock.nowMs() - atMs;
    if (ageMs >= forcedRefreshMemoryMs) return { useless: 0, spentMs: 0, ageMs };
    return { useless, spentMs: Math.max(0, spentMs - ageMs), ageMs };
  }

  /** Whether the last refresh is too recent after so many useless ones in a row. */
  isWithinWindow(name: string, longestMs = longestWindowMs): boolean {
    const { useless, ageMs } = this.of(name);
    return useless > 0 && ageMs < Math.min(firstWindowMs * 2 ** (useless - 1), longestMs);
  }

  /** @returns the new counts for the other replicas */
  record(site: string, useless: number, spentMs: number, uselessOfAll: number): ForcedCounts {
    const atMs = this.#clock.nowMs();
    const counts = new Map([
      [site, { useless, spentMs: Math.max(0, spentMs) }],
      [everySite, { useless: uselessOfAll, spentMs: 0 }],
    ]);
    for (const [name, count] of counts) this.#counts.set(name, { ...count, atMs, isOwn: true });
    return counts;
  }

  /** The counts read last apply, unless this replica has counted since. A slow read makes a count seem younger than it is. */
  mergeShared(counts: ReadonlyMap<string, ForcedRefreshes>): void {
    const nowMs = this.#clock.nowMs();
    for (const [name, { ageMs, ...count }] of counts) {
      const atMs = nowMs - ageMs;
      const known = this.#counts.get(name);
      if (!known?.isOwn || atMs > known.atMs) this.#counts.set(name, { ...count, atMs, isOwn: false });
    }
  }

  /**
   * Another replica's token has cured the site: its useless refreshes were counted before that, and the new count may never be
   * read, if Redis is unreachable since.
   */
  forgetShared(site: string): void {
    if (this.#counts.get(site)?.isOwn === false) this.#counts.delete(site);
  }
}
