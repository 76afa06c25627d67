import type { RedisSnapshot } from "../model/redis-access.ts";
import type { RefreshLock } from "../oauth/refresh-lock.ts";
import type { TokenStore } from "../oauth/token-store.ts";
import type { Announcements } from "./announcements.ts";

/** What replicas share, or what one process keeps for itself. */
export interface TokenBackend {
  readonly store: TokenStore;
  readonly lock: RefreshLock;
  /** Calls the listener whenever the store is back after it was away. */
  onReturn(listener: () => void): void;
  /** Whether its servers are there. */
  readonly announcements: Announcements;
  /** Its servers at this moment; none where one process keeps all for itself. */
  snapshot(): readonly RedisSnapshot[];
  close(): Promise<void>;
}
