import type { Clock } from "../../model/clock.ts";
import { ForcedRefreshLog } from "../../oauth/forced-refresh-log.ts";
import {
  type EndpointPause,
  type LimitEvent,
  type LimitsSnapshot,
  sitePauseMemoryMs,
} from "../../oauth/shared-limits.ts";
import type { IssuedToken, RefreshLock, Shared, StoredToken, TokenStore } from "../../oauth/token-store.ts";

/**
 * The default store: one process, nothing to install, empty after a restart. Bounded by the keys in use: a released key's
 * token goes with it, and what late requests record for it goes when it is over.
 */
export function createMemoryTokenStore(clock: Clock): TokenStore {
  const sets = new Map<string, MemorySet>();
  const setOf = (key: string): MemorySet => {
    const known = sets.get(key);
    if (known !== undefined) return known;
    for (const [other, set] of sets) if (set.isOver()) sets.delete(other);
    const fresh = new MemorySet(clock);
    sets.set(key, fresh);
    return fresh;
  };
  return {
    read: async (key) => setOf(key).read(),
    save: async (key, token, ageMs) => setOf(key).save(token, ageMs),
    record: async (key, event) => setOf(key).record(event),
    forget: (key) => void sets.delete(key),
  };
}

/** What the sources of one credential set share within one process. */
export class MemorySet {
  readonly #clock: Clock;
  readonly #log: ForcedRefreshLog;
  /** Bounded by the configured sites. */
  readonly #sites = new Map<string, { readonly pauseMs: number; readonly untilMs: number }>();
  #token: (IssuedToken & { readonly issuedAtMs: number }) | undefined;
  #endpoint: { readonly pause: EndpointPause; readonly atMs: number; readonly untilMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#log = new ForcedRefreshLog(clock);
  }

  /** Nothing is left to read. */
  isOver(): boolean {
    const { token, limits } = this.read();
    return token === undefined && limits.endpoint === undefined && limits.sites.size + limits.facts.length === 0;
  }

  read(): Shared & { readonly limits: LimitsSnapshot } {
    const limits = { endpoint: this.#readEndpoint(), sites: this.#readSites(), facts: this.#log.facts() };
    return { token: this.#readToken(), limits };
  }

  /** Of two tokens the later issued one stays. */
  save({ secret, lifetimeMs }: IssuedToken, ageMs: number): StoredToken {
    const issuedAtMs = this.#clock.nowMs() - ageMs;
    if (this.#endpoint !== undefined && this.#endpoint.atMs <= issuedAtMs) this.#endpoint = undefined;
    const known = this.#token !== undefined && this.#token.issuedAtMs > issuedAtMs ? this.#readToken() : undefined;
    if (known !== undefined) return known;
    this.#token = { secret, lifetimeMs, issuedAtMs };
    return { secret, lifetimeMs, remainingMs: lifetimeMs - ageMs };
  }

  record(event: LimitEvent): void {
    const nowMs = this.#clock.nowMs();
    if (event.kind === "endpoint_paused") {
      const { pause } = event;
      const untilMs = nowMs + pause.remainingMs;
      if ((this.#endpoint?.untilMs ?? nowMs) < untilMs) this.#endpoint = { pause, atMs: nowMs, untilMs };
      return;
    }
    const { kind, site, pauseMs = 0 } = event;
    const isNews = this.#log.add(event);
    if (kind === "accepted" || kind === "recovered") this.#sites.delete(site);
    if (kind === "failed" && isNews && pauseMs > 0) this.#sites.set(site, { pauseMs, untilMs: nowMs + pauseMs });
  }

  #readToken(): StoredToken | undefined {
    if (this.#token === undefined) return undefined;
    const { issuedAtMs, ...token } = this.#token;
    const remainingMs = issuedAtMs + token.lifetimeMs - this.#clock.nowMs();
    return remainingMs > 0 ? { ...token, remainingMs } : undefined;
  }

  #readEndpoint(): LimitsSnapshot["endpoint"] {
    const nowMs = this.#clock.nowMs();
    if (this.#endpoint === undefined || this.#endpoint.untilMs <= nowMs) return undefined;
    const { pause, atMs, untilMs } = this.#endpoint;
    return { ...pause, remainingMs: untilMs - nowMs, ageMs: nowMs - atMs };
  }

  #readSites(): LimitsSnapshot["sites"] {
    const nowMs = this.#clock.nowMs();
    const known = [...this.#sites].filter(([, { untilMs }]) => untilMs + sitePauseMemoryMs > nowMs);
    return new Map(
      known.map(([site, { pauseMs, untilMs }]) => [site, { pauseMs, remainingMs: Math.max(0, untilMs - nowMs) }]),
    );
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
