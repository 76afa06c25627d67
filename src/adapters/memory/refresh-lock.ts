import type { RefreshLock } from "../../oauth/refresh-lock.ts";

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
