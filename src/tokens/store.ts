import type { Secret } from "../secret.ts";

/** A token as it came from the login host. */
export interface IssuedToken {
  readonly secret: Secret;
  readonly lifetimeMs: number;
}

/** A token as the store knows it. Ages are the store's: a reader's wall clock plays no part. */
export interface StoredToken extends IssuedToken {
  /** Order of issue: of two tokens under one key, the larger is the newer. */
  readonly issue: number;
  readonly remainingMs: number;
}

/**
 * Where replicas share tokens. Keys come from `cacheKey`.
 *
 * A store never fails: what it cannot read is a miss, and what it cannot save is still returned to the caller that
 * issued it. It promises that a token saved earlier never replaces one saved later. It does not promise that a token
 * is still valid, nor that a saved token survives.
 */
export interface TokenStore {
  /** The newest token under the key that still has life, or undefined. */
  read(key: string): Promise<StoredToken | undefined>;
  /** Saves a token issued just now; resolves to the newest one, which may be another process's. */
  save(key: string, token: IssuedToken): Promise<StoredToken>;
}
