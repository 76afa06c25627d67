import { createHash, createHmac } from "node:crypto";
import { type CredentialSet, identityOf } from "../model/environment.ts";
import type { NoNewerToken, TokenOutage } from "../model/events.ts";
import type { Secret } from "../model/secret.ts";

/** A bearer token and its life on this process's monotonic clock. */
export interface Token {
  readonly secret: Secret;
  /** Distinguishes tokens without showing them; the same in every process. */
  readonly id: string;
  /** `<site>/<name>` of the set it was issued for. */
  readonly credential: string;
  /** When its token request began: of two tokens, the one with the later request is newer. */
  readonly issuedAtMs: number;
  /** The longest time after that in which it was really issued. */
  readonly issuedWithinMs: number;
  readonly lifetimeMs: number;
  /** The authorization server gives this token until it ends: an earlier request brings no other token. */
  readonly isRepeated: boolean;
}

/** The tokens of one site, as requests get them. Deadlines are on the monotonic clock. */
export interface TokenSource {
  /**
   * A token that may be used now. Waits only when there is none, for `timeouts.token` at most.
   * @throws ProxyError token_unavailable, credentials_refused
   */
  get(deadlineMs: number): Token | Promise<Token>;

  /** Why there is no token, if the last token request has failed too. Repeats the request in the background. */
  outage(): TokenOutage | undefined;

  /**
   * The service accepted a first attempt with this token: its answer was neither 401 nor 5xx.
   * @param sentAtMs when the attempt was sent, or a little earlier
   */
  accepted(token: Token, site: string, sentAtMs: number): void;

  /** The same for the retry of a request that the service had answered with 401. */
  cured(token: Token, site: string, sentAtMs: number): void;

  /** The service answered 401 to a retry with this token. */
  refused(token: Token, site: string): void;

  /** The service answered 401 to a first attempt. Resolves to a newer token for the one retry, or to why there is none in time. */
  replace(token: Token, site: string, deadlineMs: number): Promise<Token | NoNewerToken>;
}

const authorizations = new WeakMap<Secret, string>();

/**
 * The value of Authorization (RFC 6750 section 2.1). The text is kept as long as the token: every
 * request sends it, and each `reveal` of a Secret allocates a buffer outside the heap.
 */
export function authorizationOf({ secret }: Token): string {
  let authorization = authorizations.get(secret);
  if (authorization === undefined) {
    authorization = `Bearer ${secret.reveal()}`;
    authorizations.set(secret, authorization);
  }
  return authorization;
}

/** The first 64 bits of a hash: enough to distinguish tokens, and the token cannot be derived from it. */
export function tokenId(secret: Secret): string {
  return createHash("sha256").update(secret.reveal()).digest("hex").slice(0, 16);
}

/** Ages from a store are exact only up to the delay of the read. A token is never newer than itself. */
export function isNewer(token: Token, than: Token | undefined): boolean {
  return than === undefined || (token.id !== than.id && token.issuedAtMs > than.issuedAtMs);
}

/** Whether this is the known token, which a refresh has brought again since: its end is known better now. */
export function isFoundRepeated(token: Token, known: Token | undefined): boolean {
  return token.isRepeated && token.id === known?.id && !known.isRepeated;
}

/**
 * The name under which replicas share a set's token: a hash over everything that makes a token a different token. Each
 * part is preceded by its length, so different parts never give the same input. The secret enters as a fingerprint, so
 * that a changed secret never reuses the old secret's token.
 * @param tokenUrl of the token endpoint
 */
export function cacheKey(tokenUrl: string, set: CredentialSet): string {
  const { clientId, audience = "", token } = set;
  const hash = createHash("sha256");
  for (const part of [tokenUrl, clientId, audience, fingerprintOf(set), ...identityOf(token)]) {
    const bytes = Buffer.from(part, "utf8");
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  }
  return hash.digest("hex");
}

/** Fingerprint of the secret or key that proves the client; `identityOf` has that of a certificate. */
function fingerprintOf({ clientSecret, token }: CredentialSet): string {
  const clientAuth = token?.clientAuth;
  const secret = clientAuth?.method === "private_key_jwt" ? clientAuth.privateKey : clientSecret;
  return secret === undefined ? "" : createHmac("sha256", secret.key).update("countersign cache key").digest("hex");
}

/**
 * `fresh`: use it. `due`: use it, and refresh in the background. `expired`: do not attach it any more; its lifetime has ended
 * or ends soon.
 */
type Freshness = "fresh" | "due" | "expired";

/** When a process acts on the age of a set's tokens. Chosen once at random, so that neither replicas nor sets act at the same moment. */
export interface Thresholds {
  /** Share of the life after which a token is due, 0.80 to 0.88 (spec 5.4: 80 to 90 %). */
  readonly dueShare: number;
  /** A token expires this long before its lifetime ends: 60,000 to 120,000 ms (spec 8), but a tenth of a shorter life. */
  readonly leewayMs: number;
}

/** Orders wait for a repeated token's successor from here on: clocks may be two seconds apart, and orders wait five at most. */
const repeatedLeewayMs = 2_500;
const shortestLeewayMs = 60_000;
const leewaySpreadMs = 60_000;

/** @param random uniform in [0, 1) */
export function drawThresholds(random: () => number): Thresholds {
  return { dueShare: 0.8 + 0.08 * random(), leewayMs: shortestLeewayMs + leewaySpreadMs * random() };
}

/** The longest time before the end of a token's lifetime at which any replica stops attaching it. */
export function longestLeewayMs(lifetimeMs: number): number {
  return Math.min(shortestLeewayMs + leewaySpreadMs, lifetimeMs / 10);
}

/** When a refresh in the background may bring a new token. */
export function dueAtMs(token: Token, thresholds: Thresholds): number {
  return token.isRepeated ? endsAtMs(token) : token.issuedAtMs + token.lifetimeMs * thresholds.dueShare;
}

export function expiredAtMs(token: Token, thresholds: Thresholds): number {
  const leewayMs = Math.min(thresholds.leewayMs, token.lifetimeMs / 10);
  return endsAtMs(token) - (token.isRepeated ? repeatedLeewayMs : leewayMs);
}

export function endsAtMs({ issuedAtMs, lifetimeMs }: Token): number {
  return issuedAtMs + lifetimeMs;
}

export function freshness(token: Token, thresholds: Thresholds, nowMs: number): Freshness {
  if (nowMs >= expiredAtMs(token, thresholds)) return "expired";
  return nowMs >= dueAtMs(token, thresholds) ? "due" : "fresh";
}
