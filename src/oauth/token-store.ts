import type { Secret } from "../model/secret.ts";

/** What the authorization server grants: a token, and its life from its request on. */
export interface Grant {
  readonly secret: Secret;
  readonly lifetimeMs: number;
}

/** A token as a replica requested it. */
export interface IssuedToken extends Grant {
  /** How long its request took: it was issued within this time. */
  readonly issuedWithinMs: number;
  /** The authorization server gives this token until it ends: an earlier request brings no other token. */
  readonly isRepeated: boolean;
}

/** A token in the store. Its remaining life is counted by the store, never by a reader's wall clock. */
export interface StoredToken extends IssuedToken {
  readonly remainingMs: number;
}

/** The state that replicas share under one key. */
export interface Shared {
  /** The newest token that has not expired. */
  readonly token: StoredToken | undefined;
  /** Undefined when the store could not be read. */
  readonly limits: LimitsSnapshot | undefined;
}

/**
 * The place where replicas share tokens, and the limits of a credential set's token requests, so that eight replicas make
 * no more requests than one would. Keys come from `cacheKey`.
 *
 * A store never fails and is never slow: a token that it cannot read is absent, and a token that it cannot save is still
 * returned to the caller that saved it. Of two tokens under one key the one that was issued later stays. Neither the order of
 * saving nor the savers' wall clocks matter. The store does not promise that a token is still valid, or survives.
 */
export interface TokenStore {
  /**
   * One round trip.
   * @param names the sites, or `everySite`, whose forced refreshes are read too
   */
  read(key: string, names?: readonly string[]): Promise<Shared>;
  /**
   * Saves a token, and ends an endpoint pause that is older. Resolves to the newest token, which may be another process's.
   * @param ageMs time since its token request began, on the saver's monotonic clock
   */
  save(key: string, token: IssuedToken, ageMs: number): Promise<StoredToken>;
  /** Reads the pause alone. The key may also be that of an address, which has no token. */
  readPause(key: string): Promise<EndpointPause | undefined>;
  /** Of two pauses the one that ends later stays. A token whose request began after a pause removes it. */
  pause(key: string, pause: EndpointPause): Promise<void>;
  /** Of the counts under one name the last one stays, for an hour. */
  countForced(key: string, counts: ForcedCounts): Promise<void>;
  /** This process no longer uses the key: its memory for the key is released. The shared state stays. */
  forget(key: string): void;
}

/** The limits that replicas share. Durations only: every reader converts them to its own clock. */
export interface LimitsSnapshot {
  /** The pause of token requests. It is kept for a minute after its end, with `remainingMs` 0. */
  readonly endpoint: EndpointPause | undefined;
  /** By the requested names. */
  readonly forced: ReadonlyMap<string, ForcedRefreshes>;
}

/** The refreshes that the 401s of one site forced; under `everySite`, those that all sites forced. */
export interface ForcedCount {
  /** How many in a row seem to have been useless. */
  readonly useless: number;
  /** What the site had spent of its budget when this was counted, as the time in which it comes back. */
  readonly spentMs: number;
}

export interface ForcedRefreshes extends ForcedCount {
  /** Time since the count was set. */
  readonly ageMs: number;
}

/** By site, and under `everySite`. */
export type ForcedCounts = ReadonlyMap<string, ForcedCount>;

/** A name that no site has. */
export const everySite = "*";

export const endpointPauseKinds = ["refused", "throttled", "failing"] as const;

/** A pause after an answer of the authorization server. A request without an answer pauses its own replica only. */
export interface EndpointPause {
  readonly kind: (typeof endpointPauseKinds)[number];
  readonly status: number;
  /** Answers in a row that had no token, up to this pause. */
  readonly failures: number;
  readonly remainingMs: number;
}

/** How long an endpoint's pause is kept after its end, so that the replicas count its failures together. */
export const endpointPauseMemoryMs = 60_000;
/** How long the count of forced refreshes is kept: it is the time in which a budget comes back. */
export const forcedRefreshMemoryMs = 3_600_000;

/** The exclusive right to refresh one credential set, renewed by its holder until it is released. */
export interface Lease {
  /** Never fails, and never takes another holder's lease away. */
  release(): Promise<void>;
}

/**
 * Lets one process at a time refresh a credential set.
 *
 * The lock is for efficiency: a pause or a fail-over can give it to two holders. That may use one more token but must do no
 * other harm, so correctness depends on the store's order of tokens alone. It never waits and never fails: `held` means
 * that another holder has the lock, `unavailable` that the lock cannot be reached.
 */
export interface RefreshLock {
  tryAcquire(key: string): Promise<Lease | "held" | "unavailable">;
}
