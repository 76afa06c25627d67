import type { Clock } from "../model/clock.ts";
import { backoffMs } from "./backoff.ts";
import type { HeardPause, Note, SharedPause } from "./shared-limits.ts";
import type { TokenAnswer } from "./token-endpoint.ts";

/**
 * Why no token request may be made for a while. `refused`: the credentials were refused. `throttled`: 429. `failing`:
 * the authorization server fails or does not answer. `spacing`: a token was issued a moment ago.
 */
export interface Pause {
  readonly kind: SharedPause["kind"] | "spacing";
  /** On the monotonic clock. */
  readonly untilMs: number;
  /** The authorization server's answer that caused it, where there was one. */
  readonly status: number | undefined;
  /** Why that brought no token; unknown where another replica was told. */
  readonly cause?: string | undefined;
}

/** A pause that other replicas keep too. */
type Ban = Pause & { readonly kind: SharedPause["kind"] };

/** A refused set is tried again this often (row 33). */
const refusedPauseMs = 10_000;
/** However short tokens live, refreshes are this far apart (row 32). */
const spacingMs = 1_000;
/** A 429 without a usable Retry-After counts as this many failures: back-off, but not aggressive (spec 5.4). */
const throttledSteps = 6;
/** How often one refresh may try again; see `mayRetry`. */
const retriesPerRefresh = 4;

/** How long to leave the authorization server alone after an answer, in ms. */
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
    case "failed":
    case "timed_out":
      return { kind: "failing", ms: backoffMs(failures, random) };
  }
}

/** How one credential set behaves towards the authorization server: one sequence of back-off, however many callers ask. */
export class EndpointBackoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  #failures = 0;
  #isRefused = false;
  #pause: Pause | undefined;
  #pausedAtMs = Number.NEGATIVE_INFINITY;
  readonly #way: string | undefined;
  /** Failures that others met before say nothing of the present way to the authorization server. */
  #sinceMs = Number.NEGATIVE_INFINITY;

  /** @param way a fingerprint of the trust and the timeouts towards the authorization server */
  constructor(clock: Clock, random: () => number, way?: string) {
    this.#clock = clock;
    this.#random = random;
    this.#way = way;
  }

  /**
   * The same set over another pool of connections, with another trust or timeout: what failed on the old way is tried
   * anew. What the authorization server itself has said stays in force: a refusal, and how long to wait.
   */
  onAnotherWay(way?: string): EndpointBackoff {
    const next = new EndpointBackoff(this.#clock, this.#random, way);
    const ban = this.ban();
    next.#sinceMs = this.#clock.nowMs();
    next.#isRefused = this.#isRefused;
    if (ban === undefined || ban.kind === "failing") return next;
    next.#failures = this.#failures;
    next.#pause = ban;
    next.#pausedAtMs = this.#pausedAtMs;
    return next;
  }

  /** The pause in force now. */
  pause(): Pause | undefined {
    if (this.#pause !== undefined && this.#clock.nowMs() >= this.#pause.untilMs) this.#pause = undefined;
    return this.#pause;
  }

  /** The pause that forbids a request altogether; the one between two tokens is merely sat out. */
  ban(): Ban | undefined {
    const pause = this.pause();
    return pause === undefined || pause.kind === "spacing" ? undefined : { ...pause, kind: pause.kind };
  }

  /** The authorization server refused this set and has not accepted it since. */
  isRefused(): boolean {
    return this.#isRefused;
  }

  /** Takes note of an answer; returns the pause that follows from it. */
  note(answer: TokenAnswer): Pause {
    const { kind, ms } = pauseAfter(answer, this.#failures, this.#random);
    const status = "status" in answer ? answer.status : undefined;
    const isPassing = kind === "failing" || kind === "throttled";
    this.#failures = isPassing ? this.#failures + 1 : 0;
    if (!isPassing) this.#isRefused = kind === "refused";
    this.#pausedAtMs = this.#clock.nowMs();
    const cause = "cause" in answer ? answer.cause : undefined;
    this.#pause = { kind, untilMs: this.#pausedAtMs + ms, status, cause };
    return this.#pause;
  }

  /** The ban in force, as the other replicas are told of it. */
  tell(): Note | undefined {
    const ban = this.ban();
    if (ban === undefined) return undefined;
    const { kind, status, untilMs } = ban;
    const remainingMs = untilMs - this.#clock.nowMs();
    const way = kind === "failing" ? this.#way : undefined;
    return { kind: "login_paused", pause: { kind, status, failures: this.#failures, remainingMs, way } };
  }

  /** Another replica was told to wait: the longer wait counts. */
  hear(pause: HeardPause | undefined): void {
    if (pause === undefined) return;
    const nowMs = this.#clock.nowMs();
    if (pause.kind === "failing" && !this.#isOnThisWay(pause, nowMs)) return;
    const untilMs = nowMs + pause.remainingMs;
    const own = this.ban();
    if (own !== undefined && own.untilMs >= untilMs) return;
    this.#pausedAtMs = nowMs;
    this.#pause = { kind: pause.kind, untilMs, status: pause.status };
    this.#failures = Math.max(this.#failures, pause.failures);
    if (pause.kind === "refused") this.#isRefused = true;
  }

  /** Whether a failure that another replica met would be met here too; a note without a way is judged by its age. */
  #isOnThisWay({ way, ageMs }: HeardPause, nowMs: number): boolean {
    return way === undefined || this.#way === undefined ? nowMs - ageMs > this.#sinceMs : way === this.#way;
  }

  /** Another replica was given a token that it asked for at the moment named (monotonic): what was before is over. */
  hearOfToken(issuedAtMs: number): void {
    if (issuedAtMs < this.#pausedAtMs) return;
    this.#failures = 0;
    this.#isRefused = false;
    this.#pause = { kind: "spacing", untilMs: issuedAtMs + spacingMs, status: undefined };
  }

  /** Whether a refresh that began with all well may try again within itself; later ones wait for demand. */
  mayRetry(answer: TokenAnswer, retriesMade: number): boolean {
    const isBrief = answer.kind === "failed" || answer.kind === "malformed";
    return isBrief && retriesMade < retriesPerRefresh && this.#failures === retriesMade + 1;
  }
}
