/**
 * What changes the limits that the replicas of a credential set keep together, so that eight of them ask the authorization
 * server no more than one would. `TokenStore` records it, and reads the limits together with the token.
 *
 * - Of two endpoint pauses the one that ends later stays. A token whose request began after a pause ends it.
 * - Facts about forced refreshes are only added. Each is known for a minute, and the facts of 32 refreshes at least.
 * - The first failure of a token at a site counts: it starts the site's pause, and later ones change nothing. A recovery
 *   is final. What was known of a refresh is known as long as its outcome.
 * - An accepted request of a site ends the site's pause. A pause that ran out is known for 15 minutes more.
 */
export type LimitEvent = { readonly kind: "endpoint_paused"; readonly pause: EndpointPause } | RefreshEvent;

export interface RefreshEvent extends RefreshName {
  readonly kind: RefreshFact["kind"];
  /** Of `failed`: how long the site's forced refreshes pause from now on; absent for no pause. */
  readonly pauseMs?: number;
}

/** What the replicas know together. Durations only: every reader places them on its own clock. */
export interface LimitsSnapshot {
  /** How long the authorization server is to be left alone. */
  readonly endpoint: SharedEndpointPause | undefined;
  /** By S… identifier: how long a site's forced refreshes pause. `remainingMs` is 0 after the end. */
  readonly sites: ReadonlyMap<string, { readonly pauseMs: number; readonly remainingMs: number }>;
  readonly facts: readonly RefreshFact[];
}

export const endpointPauseKinds = ["refused", "throttled", "failing"] as const;

export interface EndpointPause {
  readonly kind: (typeof endpointPauseKinds)[number];
  /** The authorization server's status, when it answered. */
  readonly status: number | undefined;
  /** Failures in a row up to this pause. */
  readonly failures: number;
  readonly remainingMs: number;
  /** Of `failing`: a fingerprint of the trust and the timeouts that failed. A replica with others tries itself. */
  readonly transport?: string | undefined;
}

export interface SharedEndpointPause extends EndpointPause {
  /** Since the answer that caused it. */
  readonly ageMs: number;
}

/** A refresh that a 401 forced, by the new token's `id` and the site that answered 401. */
export interface RefreshName {
  readonly token: string;
  readonly site: string;
}

export const refreshFactKinds = ["forced", "doubtful", "accepted", "failed", "recovered"] as const;

/**
 * One thing known of a forced refresh. `forced`: it was made. `doubtful`: it was made, and a chance 401 explains it as well
 * as the former token's end. `accepted`: the site accepted a request with the token. `failed`: the retry was refused too.
 * `recovered`: a refused request was accepted with the token.
 */
export interface RefreshFact extends RefreshName {
  readonly kind: (typeof refreshFactKinds)[number];
  readonly ageMs: number;
}

/** How long a fact is known. */
export const factMemoryMs = 60_000;
/** The newest refreshes are known; far more than any limit allows. */
export const mostForcedRefreshes = 32;
export const mostFacts = mostForcedRefreshes * refreshFactKinds.length;
/** The longest pause of a site's forced refreshes. */
export const longestSitePauseMs = 900_000;
/** How long a site's pause is known after its end, so that the next one can be longer. */
export const sitePauseMemoryMs = 900_000;

export const noLimits: LimitsSnapshot = { endpoint: undefined, sites: new Map(), facts: [] };
