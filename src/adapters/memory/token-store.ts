import type { Clock } from "../../clock.ts";
import type { IssuedToken, StoredToken, TokenStore } from "../../tokens/store.ts";

interface Entry extends IssuedToken {
  readonly issue: number;
  readonly savedAtMs: number;
}

/** The default store: one process, nothing to install, empty after a restart. Bounded by the configured sets. */
export function createMemoryTokenStore(clock: Clock): TokenStore {
  const entries = new Map<string, Entry>();
  let issues = 0;

  const withAge = (entry: Entry): StoredToken => ({
    secret: entry.secret,
    lifetimeMs: entry.lifetimeMs,
    issue: entry.issue,
    remainingMs: entry.lifetimeMs - (clock.nowMs() - entry.savedAtMs),
  });

  return {
    async read(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      const stored = withAge(entry);
      return stored.remainingMs > 0 ? stored : undefined;
    },
    async save(key, token) {
      issues += 1;
      const entry: Entry = { ...token, issue: issues, savedAtMs: clock.nowMs() };
      entries.set(key, entry);
      return withAge(entry);
    },
  };
}
