/**
 * What replicas tell each other about one credential set, so that eight of them behave like one towards the authorization server.
 * Always durations, never moments: every reader places them on its own clock.
 */
export interface SharedLimits {
  /** The pause that the authorization server's last answer asks for. */
  readonly login: HeardPause | undefined;
  /** Sites whose 401 no new token cured, by S… identifier: how long their refreshes pause; 0 is over, but not forgotten. */
  readonly sites: ReadonlyMap<string, { readonly pauseMs: number; readonly remainingMs: number }>;
  /** Refreshes of the last minute that a 401 forced, oldest first. */
  readonly tries: readonly SharedTry[];
}

export interface SharedPause {
  readonly kind: "refused" | "throttled" | "failing";
  /** The authorization server's status, when it answered. */
  readonly status: number | undefined;
  /** Failures in a row up to this pause. */
  readonly failures: number;
  readonly remainingMs: number;
  /** Of `failing`: by which trust and timeouts the authorization server was not reached. A replica with others tries itself. */
  readonly way?: string | undefined;
}

/** A pause as a reader finds it. */
export interface HeardPause extends SharedPause {
  /** Since the answer that caused it. */
  readonly ageMs: number;
}

/** A refresh that a 401 forced. It counts against the limit until the site that wanted it accepts the token. */
export interface SharedTry {
  /** The new token's `id`. */
  readonly token: string;
  readonly site: string;
  /**
   * `accepted`: by a request that may have needed no new token. `useless`: a retry with the new token was refused too, and no request that needed no new token takes that back. `cured`:
   * a request that was refused before was accepted with it; final.
   */
  readonly fate: "open" | "accepted" | "useless" | "cured";
  /** The site has accepted the token, whatever became of the retries: should it be refused later, it was revoked. */
  readonly isAccepted: boolean;
  /** The token before was accepted until then, and a chance 401 explains the refresh as well as its end does. */
  readonly isDoubted: boolean;
  readonly ageMs: number;
}

/** One thing that a replica tells the others. */
export type Note =
  | { readonly kind: "login_paused"; readonly pause: SharedPause }
  | { readonly kind: "tried"; readonly token: string; readonly site: string; readonly isDoubted: boolean }
  /** A request of the site was accepted with the token. */
  | { readonly kind: "accepted"; readonly token: string; readonly site: string }
  /** A retry was. */
  | { readonly kind: "cured"; readonly token: string; readonly site: string }
  | {
      readonly kind: "useless";
      readonly token: string;
      readonly site: string;
      /** The site's pause from now on; 0 for none. */
      readonly pauseMs: number;
    };

/** How long a forced refresh is remembered. */
export const tryMemoryMs = 60_000;
/** The newest ones are kept; far more than any limit allows. */
export const longestTryList = 32;

export const quietConduct: SharedLimits = { login: undefined, sites: new Map(), tries: [] };
