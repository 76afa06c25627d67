/** The exclusive right to refresh one credential set, renewed by its holder until it is released. */
export interface Lease {
  /** Never fails, and never takes another holder's lease away. */
  release(): Promise<void>;
}

/**
 * Lets one process at a time refresh a credential set.
 *
 * The lock is for efficiency: a pause or a fail-over can give it to two holders. That costs a token and must cost nothing
 * else, so correctness rests on the store's order of tokens alone. It never waits and never fails: `held` means that
 * another holder has it, `unavailable` that the lock cannot be asked.
 */
export interface RefreshLock {
  tryAcquire(key: string): Promise<Lease | "held" | "unavailable">;
}
