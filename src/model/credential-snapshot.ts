import type { RefreshReason } from "./events.ts";

/**
 * One credential set at the moment of asking: what gauges, /status and readiness show. Times are on the monotonic clock.
 */
export interface CredentialSnapshot {
  readonly environment: string;
  /** `<site>/<name>`, as metrics and logs name it. */
  readonly credential: string;
  /** Its site uses this set now. */
  readonly isActive: boolean;
  readonly token: TokenSnapshot | undefined;
  /** When its token was attached to a request last. */
  readonly lastUsedMs: number | undefined;
  /** The authorization server is not asked before. */
  readonly backoffUntilMs: number | undefined;
  /** The last token request has failed, and no token is left. */
  readonly isInOutage: boolean;
}

/** One for each set, whatever its sites; for maps and sets. */
export function credentialKey({
  environment,
  credential,
}: Pick<CredentialSnapshot, "environment" | "credential">): string {
  return `${environment} ${credential}`;
}

export interface TokenSnapshot {
  readonly lifetimeMs: number;
  readonly expiresAtMs: number;
  /** Issued to this process; otherwise it came from the shared cache. */
  readonly issuedHere: boolean;
  /** Why it was asked for. */
  readonly reason: RefreshReason;
}
