import type { RefreshLock } from "../tokens/lock.ts";
import type { TokenStore } from "../tokens/store.ts";

/** What replicas share, or what one process keeps for itself. */
export interface TokenCache {
  readonly store: TokenStore;
  readonly lock: RefreshLock;
  /** Calls the listener whenever the store is back after it was away. */
  onReturn(listener: () => void): void;
  /** The configuration that it belongs to is in force from now on, or is no more; so its servers are told of, or not. */
  raiseVoice(): void;
  hushVoice(): void;
  close(): Promise<void>;
}
