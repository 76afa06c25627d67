import type { Clock } from "../model/clock.ts";
import {
  factMemoryMs,
  mostFacts,
  mostForcedRefreshes,
  type RefreshEvent,
  type RefreshFact,
  type RefreshName,
} from "./shared-limits.ts";

/** The facts about one forced refresh, added up. */
export interface ForcedRefresh extends RefreshName {
  /**
   * `pending` and `failed` count against the limit. `accepted`, by a request that may have needed no new token, ends
   * `pending` but not `failed`. `recovered` is final.
   */
  readonly status: "pending" | "accepted" | "failed" | "recovered";
  /** The site accepted the token, whatever the status: should it be refused later, it was revoked. */
  readonly isAccepted: boolean;
  readonly isDoubtful: boolean;
}

/** Facts about forced refreshes on this process's clock. Facts of others may be merged in any order. */
export class ForcedRefreshLog {
  readonly #clock: Clock;
  #facts: ReadonlyMap<string, RefreshName & { readonly kind: RefreshFact["kind"]; readonly atMs: number }> = new Map();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  facts(): readonly RefreshFact[] {
    const nowMs = this.#clock.nowMs();
    const facts = [...this.#facts.values()].map(({ atMs, ...fact }) => ({ ...fact, ageMs: nowMs - atMs }));
    return facts.filter(({ ageMs }) => ageMs < factMemoryMs);
  }

  refreshes(): readonly ForcedRefresh[] {
    return this.#facts.size === 0 ? [] : forcedRefreshesOf(this.facts());
  }

  has({ token, site }: RefreshName, ...kinds: readonly RefreshFact["kind"][]): boolean {
    if (this.#facts.size === 0) return false;
    const sinceMs = this.#clock.nowMs() - factMemoryMs;
    return kinds.some((kind) => (this.#facts.get(`${kind} ${token} ${site}`)?.atMs ?? sinceMs) > sinceMs);
  }

  /** @returns whether the event was news */
  add(event: RefreshEvent): boolean {
    const { kind, token, site } = event;
    if (kind === "failed" && this.has(event, "failed", "recovered")) return false;
    // What was known of a refresh is known as long as its outcome.
    const isOutcome = kind === "failed" || kind === "recovered";
    const renewed = isOutcome ? (["doubtful", "accepted"] as const).filter((known) => this.has(event, known)) : [];
    this.merge([kind, ...renewed].map((kind) => ({ kind, token, site, ageMs: 0 })));
    return true;
  }

  merge(facts: readonly RefreshFact[]): void {
    if (facts.length === 0) return;
    const nowMs = this.#clock.nowMs();
    const merged = new Map(this.#facts);
    for (const { ageMs, ...fact } of facts) {
      const name = `${fact.kind} ${fact.token} ${fact.site}`;
      merged.set(name, { ...fact, atMs: Math.max(nowMs - ageMs, merged.get(name)?.atMs ?? Number.NEGATIVE_INFINITY) });
    }
    const newestLast = [...merged].sort(([, one], [, other]) => one.atMs - other.atMs);
    this.#facts = new Map(newestLast.slice(-mostFacts).filter(([, { atMs }]) => atMs > nowMs - factMemoryMs));
  }
}

/** Adds up facts of the last minute; refreshes come oldest first. */
export function forcedRefreshesOf(facts: readonly RefreshFact[]): readonly ForcedRefresh[] {
  const found = new Map<string, RefreshName & { readonly kinds: Set<RefreshFact["kind"]> }>();
  for (const { kind, token, site } of facts.toSorted((one, other) => other.ageMs - one.ageMs)) {
    const name = `${token} ${site}`;
    const refresh = found.get(name) ?? { token, site, kinds: new Set() };
    refresh.kinds.add(kind);
    found.set(name, refresh);
  }
  const refreshes = [...found.values()].flatMap(({ kinds, ...name }) => {
    const isAccepted = kinds.has("accepted") || kinds.has("recovered");
    const status = (["recovered", "failed"] as const).find((outcome) => kinds.has(outcome));
    if (status === undefined && !kinds.has("forced") && !kinds.has("doubtful")) return [];
    const made = status ?? (isAccepted ? "accepted" : "pending");
    return [{ ...name, status: made, isAccepted, isDoubtful: kinds.has("doubtful") } as const];
  });
  return refreshes.slice(-mostForcedRefreshes);
}
