import type { Secret } from "../model/secret.ts";
import type { LimitEvent, LimitsSnapshot } from "./shared-limits.ts";

/** A token as it came from the authorization server. */
export interface IssuedToken {
  readonly secret: Secret;
  readonly lifetimeMs: number;
}

/** A token as the store knows it. Its remaining life is the store's own: a reader's wall clock plays no part. */
export interface StoredToken extends IssuedToken {
  readonly remainingMs: number;
}

/** What replicas share under one key. */
export interface Shared {
  /** The newest token that still has life. */
  readonly token: StoredToken | undefined;
  /** Undefined when the store could not be read. */
  readonly limits: LimitsSnapshot | undefined;
}

/**
 * Where replicas share tokens, and the limits that they keep together. Keys come from `cacheKey`.
 *
 * A store never fails and is never slow: what it cannot read is absent, and what it cannot save is still returned to
 * the caller that issued it. It promises that of two tokens saved under one key the later issued one stays, in
 * whichever order they are saved and whatever the savers' wall clocks say. It does not promise that a token is still
 * valid, nor that anything saved survives.
 */
export interface TokenStore {
  /**
   * One round trip.
   * @param names of sites, and `everySite`, whose forced refreshes are wanted
   */
  read(key: string, names?: readonly string[]): Promise<Shared>;
  /**
   * Saves a token, and ends an endpoint pause that is older. Resolves to the newest token, which may be another process's.
   * @param ageMs time since its token request began, on the saver's monotonic clock
   */
  save(key: string, token: IssuedToken, ageMs: number): Promise<StoredToken>;
  /** Changes the limits. Does not promise that the event survives. */
  record(key: string, event: LimitEvent): Promise<void>;
  /** This process uses the key no more: what it keeps for it here is released. What replicas share stays. */
  forget(key: string): void;
}

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
