/**
 * What changes the limits that the replicas of a credential set keep together, so that eight of them ask the authorization
 * server no more than one would. `TokenStore` records it, and reads the limits together with the token.
 *
 * - Of two endpoint pauses the one that ends later stays. A token whose request began after a pause removes it.
 * - Of the counts under one name the last stays. It is known for half an hour.
 */
export type LimitEvent =
  | { readonly kind: "endpoint_paused"; readonly pause: EndpointPause }
  /** What 401s forced, by name; see `ForcedRefreshes`. */
  | { readonly kind: "refresh_forced"; readonly useless: ReadonlyMap<string, number> };

/** What the replicas know together. Durations only: every reader places them on its own clock. */
export interface LimitsSnapshot {
  /** How long the authorization server is to be left alone. Known for a minute more, with `remainingMs` 0. */
  readonly endpoint: SharedEndpointPause | undefined;
  /** Of the names that were asked for. */
  readonly forced: ReadonlyMap<string, ForcedRefreshes>;
}

/** What is known of the refreshes that the 401s of one site forced; under `everySite`, of those for all sites. */
export interface ForcedRefreshes {
  /** How many in a row seem to have been useless. */
  readonly useless: number;
  /** Since the last one. */
  readonly ageMs: number;
}

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

export interface SharedEndpointPause extends EndpointPause {
  /** Since the answer that caused it. */
  readonly ageMs: number;
}

/** How long an endpoint's pause is known after its end, so that the replicas count its failures together. */
export const endpointPauseMemoryMs = 60_000;
/** How long a forced refresh is known: twice the longest wait that follows from it, so that the next one can be longer. */
export const forcedRefreshMemoryMs = 1_800_000;
