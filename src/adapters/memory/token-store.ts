import type { Clock } from "../../model/clock.ts";
import {
  type EndpointPause,
  endpointPauseMemoryMs,
  type ForcedCount,
  type ForcedCounts,
  type ForcedRefreshes,
  forcedRefreshMemoryMs,
  type IssuedToken,
  type LimitsSnapshot,
  type RefreshLock,
  type Shared,
  type StoredToken,
  type TokenStore,
} from "../../oauth/token-store.ts";

/**
 * The default store: one process, nothing to install, empty after a restart. Bounded by the keys in use: `forget` deletes a
 * key's token, and records that late requests make for the key are deleted when they are over.
 */
export function createMemoryTokenStore(clock: Clock): TokenStore {
  const sets = new Map<string, MemorySet>();
  /** Twice as many as were left by the last search, so that a search costs little for each of thousands of keys. */
  let searchAtSize = 0;
  const setOf = (key: string): MemorySet => {
    const known = sets.get(key);
    if (known !== undefined) return known;
    if (sets.size >= searchAtSize) {
      for (const [other, set] of sets) if (set.isOver()) sets.delete(other);
      searchAtSize = 2 * sets.size;
    }
    const fresh = new MemorySet(clock);
    sets.set(key, fresh);
    return fresh;
  };
  return {
    read: async (key, names = []) => setOf(key).read(names),
    readPause: async (key) => setOf(key).read([]).limits.endpoint,
    save: async (key, token, ageMs) => setOf(key).save(token, ageMs),
    pause: async (key, pause) => setOf(key).pause(pause),
    countForced: async (key, counts) => setOf(key).countForced(counts),
    forget: (key) => void sets.delete(key),
  };
}

/** The token and the limits that the sources of one credential set share within one process. */
export class MemorySet {
  readonly #clock: Clock;
  /** Bounded by the configured sites. */
  readonly #forced = new Map<string, ForcedCount & { readonly atMs: number }>();
  #token: (IssuedToken & { readonly issuedAtMs: number }) | undefined;
  #endpoint: { readonly pause: EndpointPause; readonly atMs: number; readonly untilMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether nothing is left to read. */
  isOver(): boolean {
    const { token, limits } = this.read([...this.#forced.keys()]);
    return token === undefined && limits.endpoint === undefined && limits.forced.size === 0;
  }

  read(names: readonly string[]): Shared & { readonly limits: LimitsSnapshot } {
    return { token: this.#readToken(), limits: { endpoint: this.#readEndpoint(), forced: this.#readForced(names) } };
  }

  /** Keeps the token that was issued later. */
  save(token: IssuedToken, ageMs: number): StoredToken {
    const issuedAtMs = this.#clock.nowMs() - ageMs;
    if (this.#endpoint !== undefined && this.#endpoint.atMs <= issuedAtMs) this.#endpoint = undefined;
    const known = this.#token !== undefined && this.#token.issuedAtMs > issuedAtMs ? this.#readToken() : undefined;
    if (known !== undefined) return known;
    this.#token = { ...token, issuedAtMs };
    return { ...token, remainingMs: token.lifetimeMs - ageMs };
  }

  pause(pause: EndpointPause): void {
    const nowMs = this.#clock.nowMs();
    const untilMs = nowMs + pause.remainingMs;
    if ((this.#endpoint?.untilMs ?? nowMs) < untilMs) this.#endpoint = { pause, atMs: nowMs, untilMs };
  }

  countForced(counts: ForcedCounts): void {
    const atMs = this.#clock.nowMs();
    for (const [name, count] of counts) this.#forced.set(name, { ...count, atMs });
  }

  #readToken(): StoredToken | undefined {
    if (this.#token === undefined) return undefined;
    const { issuedAtMs, ...token } = this.#token;
    const remainingMs = issuedAtMs + token.lifetimeMs - this.#clock.nowMs();
    return remainingMs > 0 ? { ...token, remainingMs } : undefined;
  }

  #readEndpoint(): LimitsSnapshot["endpoint"] {
    const nowMs = this.#clock.nowMs();
    if (this.#endpoint === undefined || this.#endpoint.untilMs + endpointPauseMemoryMs <= nowMs) return undefined;
    const { pause, untilMs } = this.#endpoint;
    return { ...pause, remainingMs: Math.max(0, untilMs - nowMs) };
  }

  #readForced(names: readonly string[]): ReadonlyMap<string, ForcedRefreshes> {
    const nowMs = this.#clock.nowMs();
    const known = names.flatMap((name) => {
      const { useless = 0, spentMs = 0, atMs = Number.NEGATIVE_INFINITY } = this.#forced.get(name) ?? {};
      const ageMs = nowMs - atMs;
      return ageMs < forcedRefreshMemoryMs ? [[name, { useless, spentMs, ageMs }] as const] : [];
    });
    return new Map(known);
  }
}

/** The default lock: holds within one process. It is never `unavailable`, and a lease never runs out. */
export function createMemoryRefreshLock(): RefreshLock {
  const held = new Set<string>();
  return {
    async tryAcquire(key) {
      if (held.has(key)) return "held";
      held.add(key);
      let released = false;
      return {
        async release() {
          if (!released) held.delete(key);
          released = true;
        },
      };
    },
  };
}
