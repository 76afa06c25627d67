import type { Clock } from "../../model/clock.ts";
import type { IssuedToken, StoredToken, TokenStore } from "../../oauth/token-store.ts";
import { MemorySharedLimits } from "./shared-limits.ts";

interface Entry extends IssuedToken {
  readonly issuedAtMs: number;
}

/**
 * The default store: one process, nothing to install, empty after a restart. Bounded by the keys in use: a released key's
 * token goes with it, and what late requests record for it goes when it is over.
 */
export function createMemoryTokenStore(clock: Clock): TokenStore {
  const entries = new Map<string, Entry>();
  const limits = new Map<string, MemorySharedLimits>();

  const withAge = ({ issuedAtMs, ...token }: Entry): StoredToken => ({
    ...token,
    remainingMs: issuedAtMs + token.lifetimeMs - clock.nowMs(),
  });
  const limitsOf = (key: string): MemorySharedLimits => {
    const known = limits.get(key);
    if (known !== undefined) return known;
    for (const [other, limit] of limits) if (limit.isOver()) limits.delete(other);
    const fresh = new MemorySharedLimits(clock);
    limits.set(key, fresh);
    return fresh;
  };

  return {
    async read(key) {
      const entry = entries.get(key);
      const token = entry === undefined ? undefined : withAge(entry);
      return { token: token && token.remainingMs > 0 ? token : undefined, limits: limitsOf(key).read() };
    },
    async save(key, { secret, lifetimeMs }, ageMs) {
      const entry = { secret, lifetimeMs, issuedAtMs: clock.nowMs() - ageMs };
      const known = entries.get(key);
      const isKnownNewer = known !== undefined && known.issuedAtMs > entry.issuedAtMs && withAge(known).remainingMs > 0;
      const newest = isKnownNewer ? known : entry;
      entries.set(key, newest);
      limitsOf(key).endPause(entry.issuedAtMs);
      return withAge(newest);
    },
    async record(key, event) {
      limitsOf(key).record(event);
    },
    forget(key) {
      entries.delete(key);
      limits.delete(key);
    },
  };
}
