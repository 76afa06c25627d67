import type { Secret } from "../model/secret.ts";

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
 * Where replicas share tokens, and the limits that the replicas of a credential set keep together, so that eight of them ask
 * the authorization server no more than one would. Keys come from `cacheKey`.
 *
 * A store never fails and is never slow: what it cannot read is absent, and what it cannot save is still returned to
 * the caller that issued it. Of two tokens under one key the later issued one stays. Neither the order of saving nor the
 * savers' wall clocks matter. The store does not promise that a token is still valid, nor that anything saved survives.
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
  /** Of two pauses the one that ends later stays. A token whose request began after a pause removes it. */
  pause(key: string, pause: EndpointPause): Promise<void>;
  /** Of the counts under one name the last stays. It is known for half an hour. */
  countForced(key: string, useless: UselessCounts): Promise<void>;
  /** This process uses the key no more: what it keeps for it here is released. What replicas share stays. */
  forget(key: string): void;
}

/** What the replicas know together. Durations only: every reader places them on its own clock. */
export interface LimitsSnapshot {
  /** How long the authorization server is to be left alone. Known for a minute more, with `remainingMs` 0. */
  readonly endpoint: EndpointPause | undefined;
  /** By the names that were asked for. */
  readonly forced: ReadonlyMap<string, ForcedRefreshes>;
}

/** What is known of the refreshes that the 401s of one site forced; under `everySite`, of those for all sites. */
export interface ForcedRefreshes {
  /** How many in a row seem to have been useless. */
  readonly useless: number;
  /** Since the last one. */
  readonly ageMs: number;
}

/** How many refreshes in a row were useless, by site and under `everySite`. */
export type UselessCounts = ReadonlyMap<string, number>;

/** A name that no site has. */
export const everySite = "*";

export const endpointPauseKinds = ["refused", "throttled", "failing"] as const;

/** What followed from an answer of the authorization server. A request without an answer pauses its own replica only. */
export interface EndpointPause {
  readonly kind: (typeof endpointPauseKinds)[number];
  readonly status: number;
  /** Answers without a token in a row, up to this pause. */
  readonly failures: number;
  readonly remainingMs: number;
}

/** How long an endpoint's pause is known after its end, so that the replicas count its failures together. */
export const endpointPauseMemoryMs = 60_000;
/** How long a forced refresh is known: twice the longest wait that follows from it, so that the next one can be longer. */
export const forcedRefreshMemoryMs = 1_800_000;

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
