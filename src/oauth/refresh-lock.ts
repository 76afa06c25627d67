/** Exclusive leave to refresh one credential set, renewed by its holder until it is released. */
export interface Lease {
  /** Gives it back; never fails, and never takes another holder's lease away. */
  release(): Promise<void>;
}

/**
 * Lets one process at a time refresh a credential set.
 *
 * The lock is for efficiency: a pause or a fail-over can give it to two holders at once. That costs a token and must
 * cost nothing else, so correctness rests on the store's order of tokens alone. It never waits and never fails:
 * `held` means that somebody else has it, `unavailable` that nobody can know.
 */
export interface RefreshLock {
  tryAcquire(key: string): Promise<Lease | "held" | "unavailable">;
}
