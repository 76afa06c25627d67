import type { Clock } from "../model/clock.ts";
import type { TokenAnswer } from "./token-endpoint.ts";
import type { EndpointPause } from "./token-store.ts";

/**
 * Why no token request may be made for a while. `refused`: the credentials were refused. `throttled`: 429. `failing`:
 * the authorization server fails or does not answer. `spacing`: a token was issued a moment ago.
 */
export interface Pause {
  readonly kind: EndpointPause["kind"] | "spacing";
  /** On the monotonic clock. */
  readonly untilMs: number;
  /** The status of the authorization server's answer that caused it, if there was one. */
  readonly status: number | undefined;
  /** Why that answer brought no token; unknown if another replica got the answer. */
  readonly cause?: string | undefined;
}

/** A refused set is tried again this often. */
const refusedPauseMs = 10_000;
/** Refreshes are at least this far apart, however short a token's lifetime is. */
const spacingMs = 1_000;
/** A 429 without a usable Retry-After counts as this many failures: back-off, but not aggressive (spec 5.4). */
const throttledSteps = 6;
/** How often a refresh may try again; see `isBrief`. */
const retriesPerRefresh = 4;
/** The first retry waits up to this long; each further one up to twice as long. */
const firstBackoffMs = 50;
/**
 * An added pause after a token request that held the lock until its timeout: other replicas try the lock within this time.
 */
const turnOfOthersMs = 500;
/** The shortest back-off: a server that starts at the same time gets four requests in 0.2 s at most. */
const leastBackoffMs = 50;
/** The longest back-off: recovery is noticed within this time. */
const longestBackoffMs = 30_000;

/**
 * Exponential back-off with full jitter: uniform between 0 and `50 ms * 2^failures`, 50 ms at least and 30 s at most.
 * @param failures requests that failed in a row before the latest one, from 0
 * @param random uniform in [0, 1)
 */
export function backoffMs(failures: number, random: () => number): number {
  return Math.max(leastBackoffMs, random() * Math.min(longestBackoffMs, firstBackoffMs * 2 ** failures));
}

function pauseAfter(answer: TokenAnswer, failures: number, random: () => number): Pick<Pause, "kind"> & { ms: number } {
  switch (answer.kind) {
    case "issued":
      return { kind: "spacing", ms: spacingMs };
    case "refused":
      return { kind: "refused", ms: refusedPauseMs };
    case "throttled": {
      const ownMs = Math.max(spacingMs, backoffMs(failures + throttledSteps, random));
      return { kind: "throttled", ms: answer.retryAfterMs ?? ownMs };
    }
    case "malformed":
      return { kind: "failing", ms: answer.successorAfterMs ?? backoffMs(failures, random) };
    case "failed":
      return { kind: "failing", ms: backoffMs(failures, random) };
    case "timed_out":
      return { kind: "failing", ms: turnOfOthersMs + backoffMs(failures, random) };
  }
}

/**
 * The pauses of one credential set's token requests: one back-off for all callers. Answers of the authorization server
 * count for all replicas; requests that got no answer count for this process alone.
 */
export class EndpointBackoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  /** Answers in a row that had no token, to any replica. */
  #failures = 0;
  /** Requests of this process in a row that got no answer. */
  #unanswered = 0;
  #isRefused = false;
  /** The first of the answers in a row that were failures of the authorization server. */
  #failingSinceMs: number | undefined;
  #pause: Pause | undefined;
  #pausedAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * The same set with other authorities or timeouts: earlier failures are forgotten. A refusal stays, and so
   * does the pause after a refusal or a 429.
   */
  withOtherTransport(): EndpointBackoff {
    const next = new EndpointBackoff(this.#clock, this.#random);
    const open = this.openPause();
    next.#isRefused = this.#isRefused;
    if (open === undefined || open.kind === "failing") return next;
    next.#failures = this.#failures;
    next.#pause = open;
    next.#pausedAtMs = this.#pausedAtMs;
    return next;
  }

  pause(): Pause | undefined {
    if (this.#pause !== undefined && this.#clock.nowMs() >= this.#pause.untilMs) this.#pause = undefined;
    return this.#pause;
  }

  /** The pause that forbids token requests. `spacing` does not forbid them: a refresh waits for the end of it. */
  openPause(): Pause | undefined {
    const pause = this.pause();
    return pause?.kind === "spacing" ? undefined : pause;
  }

  /** The authorization server refused this set and has not accepted it since. */
  isRefused(): boolean {
    return this.#isRefused;
  }

  /** How long the authorization server has given this set nothing but failures; undefined if it has not. */
  failingForMs(): number | undefined {
    return this.#failingSinceMs === undefined ? undefined : this.#clock.nowMs() - this.#failingSinceMs;
  }

  /** The last token request brought no token. */
  isFailing(): boolean {
    return this.#isRefused || this.#failures > 0 || this.#unanswered > 0;
  }

  onAnswer(answer: TokenAnswer): Pause {
    const { status } = answer;
    // A request without an answer concerns this process only.
    const isAnswered = status !== undefined;
    const { kind, ms } = pauseAfter(answer, isAnswered ? this.#failures : this.#unanswered, this.#random);
    this.#unanswered = isAnswered ? 0 : this.#unanswered + 1;
    if (isAnswered) {
      const isTransient = kind === "failing" || kind === "throttled";
      this.#failures = isTransient ? this.#failures + 1 : 0;
      if (!isTransient) this.#isRefused = kind === "refused";
    }
    this.#pausedAtMs = this.#clock.nowMs();
    if (isAnswered) this.#failingSinceMs = kind === "failing" ? (this.#failingSinceMs ?? this.#pausedAtMs) : undefined;
    const cause = "cause" in answer ? answer.cause : undefined;
    this.#pause = { kind, untilMs: this.#pausedAtMs + ms, status, cause };
    return this.#pause;
  }

  /** The present pause for the other replicas; undefined if it concerns this process only. */
  toShared(): EndpointPause | undefined {
    const pause = this.openPause();
    if (pause?.status === undefined || pause.kind === "spacing") return undefined;
    const { kind, status, untilMs } = pause;
    return { kind, status, failures: this.#failures, remainingMs: untilMs - this.#clock.nowMs() };
  }

  /** The longer pause applies: this process's own, or another replica's. */
  mergeShared(shared: EndpointPause | undefined): void {
    if (shared === undefined) return;
    const nowMs = this.#clock.nowMs();
    this.#failures = Math.max(this.#failures, shared.failures);
    const { kind, status, remainingMs } = shared;
    const untilMs = nowMs + remainingMs;
    const open = this.openPause();
    if (untilMs <= (open?.untilMs ?? nowMs)) return;
    this.#pausedAtMs = nowMs;
    // This process's own pause may come back a fraction of a millisecond longer. Causes are not shared.
    const cause = open?.kind === kind && open.status === status ? open.cause : undefined;
    this.#pause = { kind, untilMs, status, cause };
    if (kind === "refused") this.#isRefused = true;
    if (kind === "failing") this.#failingSinceMs ??= nowMs;
  }

  /** Another replica's token ends a pause that began before that token's request (`issuedAtMs`, monotonic). */
  onTokenSeen(issuedAtMs: number): void {
    if (issuedAtMs < this.#pausedAtMs) return;
    this.#failures = 0;
    this.#unanswered = 0;
    this.#isRefused = false;
    this.#failingSinceMs = undefined;
    this.#pause = { kind: "spacing", untilMs: issuedAtMs + spacingMs, status: undefined };
  }

  /** Whether a refresh waits for the end of this pause and tries again. After too many failures its callers get the reason. */
  isBrief({ kind }: Pause): boolean {
    return kind === "failing" && this.#failures + this.#unanswered <= retriesPerRefresh;
  }
}
