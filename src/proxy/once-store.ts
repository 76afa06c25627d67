import type { Outcome } from "../model/errors.ts";

/**
 * Remembers which keys (`Countersign-Once`) have been used. Of several requests that claim a key at the same moment, in
 * whichever process, one succeeds. A claim never ends by itself before its lifetime is over: the process that made it may
 * have died after sending. Until its end is recorded it reads as in progress for its lease, and from then on as `unknown`.
 *
 * Every method may fail with an error of any kind, and is answered within a second. Times are the store's, not the
 * processes'. Nothing but hashes is stored of keys and requests.
 */
export interface OnceStore {
  /**
   * Claims a key before anything is sent. A claim that fails may have been made all the same; then it is ended as soon as
   * the store answers again, if this process lives so long.
   * @returns undefined where it is claimed; else what is known of the request that has it
   */
  claim(use: KeyUse): Promise<FirstRequest | undefined>;
  /**
   * Records how the request ended that has claimed the key, or, given `not_sent`, frees it. What another request has claimed
   * stays. What cannot be written is written as soon as the store answers again, if this process lives so long.
   */
  recordEnd(use: KeyUse, end: RequestEnd): Promise<void>;
}

/** One request's use of a key. */
export interface KeyUse {
  /** What the key is told apart by: environment, site, and the key itself. */
  readonly scope: readonly string[];
  /** Unique to this use: nothing else records its end. */
  readonly requestId: string;
  /** What makes a repetition the same request. */
  readonly content: string;
  /** Longer than the request can take. */
  readonly leaseMs: number;
  /** For how long the key is remembered. */
  readonly lifetimeMs: number;
}

export interface RequestEnd {
  readonly outcome: Outcome;
  /** The service's, where it answered. */
  readonly status?: number | undefined;
}

/** The request that has a key. */
export interface FirstRequest {
  readonly requestId: string;
  /** When it claimed the key, in ms since 1970 by the store's clock. */
  readonly atMs: number;
  /** Undefined while it may be under way. */
  readonly end: RequestEnd | undefined;
  /** False where its content is known to be another. */
  readonly isSame: boolean;
}
