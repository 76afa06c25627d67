import type { Clock } from "../model/clock.ts";
import type { Caller } from "../model/listener.ts";
import { SecretLookup } from "../model/secret.ts";

/** A caller, with its rate limit if it has one. */
export interface KnownCaller extends Caller {
  readonly rate: RateLimit | undefined;
}

/** The callers of one listener, by token or by certificate name. */
export class CallerRegistry {
  /** Whether callers send a token; otherwise the TLS handshake has verified a certificate. */
  readonly byToken: boolean;
  readonly #tokens: SecretLookup<KnownCaller>;
  readonly #certificates: ReadonlyMap<string, KnownCaller>;

  constructor(callers: readonly KnownCaller[]) {
    const tokens = callers.flatMap((caller) => caller.tokens.map((token) => [token, caller] as const));
    this.#tokens = new SecretLookup(tokens);
    this.#certificates = new Map(callers.flatMap((caller) => caller.certificates.map((name) => [name, caller])));
    this.byToken = this.#certificates.size === 0;
  }

  findByToken(given: string): KnownCaller | undefined {
    return this.#tokens.find(given);
  }

  /**
   * All callers that have one of these names, each once.
   * @param names as in `certificateNames`
   */
  findByCertificate(names: readonly string[]): readonly KnownCaller[] {
    return [...new Set(names.flatMap((name) => this.#certificates.get(name) ?? []))];
  }
}

/** Intervals are not exact in binary: this is far more than the sum of their errors, and far less than one interval. */
const roundingMs = 1e-6;

/**
 * Limits a caller's requests to a rate, with bursts of one second's requests, at least one. Keeps the time at which the next
 * request is due at that rate (GCRA, ITU-T I.371), as nginx and Redis-cell do.
 */
export class RateLimit {
  readonly #clock: Clock;
  #intervalMs: number;
  #burst: number;
  /** When the next request is due at the rate, on the monotonic clock. */
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor(requestsPerSecond: number, clock: Clock) {
    this.#clock = clock;
    this.#intervalMs = 1_000 / requestsPerSecond;
    this.#burst = burstOf(requestsPerSecond);
  }

  /** Recent requests still count, but never for more than one burst of the new rate. */
  resize(requestsPerSecond: number): void {
    const nowMs = this.#clock.nowMs();
    const spent = Math.max(0, this.#dueMs - nowMs) / this.#intervalMs;
    this.#intervalMs = 1_000 / requestsPerSecond;
    this.#burst = burstOf(requestsPerSecond);
    this.#dueMs = nowMs + Math.min(spent, this.#burst) * this.#intervalMs;
  }

  /** @returns how long to wait before the next try; undefined if the request may pass: then it is counted */
  take(): number | undefined {
    const nowMs = this.#clock.nowMs();
    const dueMs = Math.max(this.#dueMs, nowMs);
    const earlyMs = dueMs - nowMs - (this.#burst - 1) * this.#intervalMs;
    if (earlyMs > roundingMs) return earlyMs;
    this.#dueMs = dueMs + this.#intervalMs;
    return undefined;
  }
}

/** Requests that may come at once after a pause. */
function burstOf(requestsPerSecond: number): number {
  return Math.max(1, Math.floor(requestsPerSecond));
}
