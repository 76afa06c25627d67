import { createHash } from "node:crypto";
import type { Cancel, Clock } from "../model/clock.ts";
import type { Pause } from "./endpoint-backoff.ts";
import type { TokenAnswer } from "./token-endpoint.ts";
import type { EndpointPause } from "./token-store.ts";

/** Of a refresh that needs a token request. */
export interface Priority {
  /** A request waits for the token. It may come while the refresh waits for its turn: see `hurry`. */
  isAwaited: boolean;
}

/** The right to make one token request; the function ends it, and may be called twice. */
export type Turn = () => void;

interface Waiting {
  readonly priority: Priority;
  readonly latestMs: number;
  readonly resolve: (turn: Turn | Pause | undefined) => void;
}

/** The most token requests at a time. */
const mostAtOnce = 8;
/** The most token requests at a time that no request waits for. */
const mostInBackground = 4;
/** So many credential sets count as few: their token requests may come close together. */
export const fewSets = 20;
/** Few sets: the longest time between two token requests in the background, once four are being made. */
const longestGapMs = 200;
/** Many sets: this is how long it takes to refresh all of them in the background, unless one of them ends sooner. */
const spreadMs = 45_000;
/** A request waits for the end of a pause that is no longer than this. */
const longestWaitMs = 5_000;
/** The longest pause of the address, doubled after each 429 in a row: a longer Retry-After may be one client's quota. */
const firstLongestPauseMs = 60_000;
/** A set that gets as many 429s in a row while others get tokens has a limit of its own. */
const ownLimitAfter = 3;
/** After a pause: this share of the rate that was accepted before it, growing by this factor in a second. */
const shareOfRate = 0.8;
const growthOfRate = 1.1;
/** At least as many token requests in a second. */
const lowestRate = 4;

/**
 * The token requests to one address: the origin of a token endpoint. All credential sets of this process share it, and all
 * replicas share its pause.
 *
 * - A 429 of the address, or a 503 with a Retry-After, pauses all its token requests for that time, a minute at most, and
 *   twice as long after each further one in a row. Then they go on more slowly than before. A set that gets 429s while
 *   others get tokens has a quota of its own, and pauses only itself.
 * - Those that a request waits for go first. The others follow four at a time, the set nearest to its end first. If the sets
 *   are many, they spread over 45 s, unless a token would end meanwhile.
 */
export class AddressLimiter {
  /** The name under which replicas share the pause. */
  readonly key: string;
  readonly #clock: Clock;
  readonly #random: () => number;
  #sets = 0;
  /** First come, first served. */
  readonly #awaited: Waiting[] = [];
  /** In the order of `latestMs`. */
  readonly #background: Waiting[] = [];
  #running = 0;
  #runningInBackground = 0;
  #startedMs = Number.NEGATIVE_INFINITY;
  #startedInBackgroundMs = Number.NEGATIVE_INFINITY;
  #gapMs = 0;
  #pause: Pause | undefined;
  #longestPauseMs = firstLongestPauseMs / 2;
  /** After the end of the last pause; undefined before the first pause. */
  #rateAfterPause: number | undefined;
  #pauseEndsMs = Number.NEGATIVE_INFINITY;
  /** When tokens were issued, within a second before the last one. */
  #issuedMs: number[] = [];
  /** The sets whose last answer was a 429. */
  readonly #throttled = new Map<string, { readonly times: number; readonly atMs: number }>();
  #cancelTimer: Cancel = () => {};
  #timerMs: number | undefined;

  constructor(origin: string, clock: Clock, random: () => number) {
    this.key = createHash("sha256").update(`address ${origin}`).digest("hex");
    this.#clock = clock;
    this.#random = random;
  }

  /** A further credential set has its tokens from this address. */
  opened(): void {
    this.#sets += 1;
  }

  /** No credential set has its tokens from this address now. */
  get isUnused(): boolean {
    return this.#sets === 0;
  }

  /** @param key of a set that gets no more tokens */
  closed(key: string): void {
    this.#sets -= 1;
    this.#throttled.delete(key);
  }

  /** The present pause of the address. */
  pause(): Pause | undefined {
    if (this.#pause !== undefined && this.#clock.nowMs() >= this.#pause.untilMs) this.#pause = undefined;
    return this.#pause;
  }

  /** The present pause, if it is too long for a request to wait for its end. */
  longPause(): Pause | undefined {
    const pause = this.pause();
    return pause !== undefined && pause.untilMs - this.#clock.nowMs() > longestWaitMs ? pause : undefined;
  }

  /**
   * Waits until a token request may be made.
   * @param latestMs in the background, the time by which it should be made; infinite if the set has no token
   * @returns the pause if a request waits and the pause is long; undefined after `abandon`
   */
  turn(priority: Priority, latestMs: number): Promise<Turn | Pause | undefined> {
    return new Promise((resolve) => {
      const waiting = { priority, latestMs, resolve };
      if (priority.isAwaited) this.#awaited.push(waiting);
      else insert(this.#background, waiting);
      const isTimerLate = this.#timerMs === undefined || latestMs < this.#timerMs;
      if (priority.isAwaited || isTimerLate) this.#dispatch();
    });
  }

  /** A request waits for this refresh from now on. */
  hurry(priority: Priority): void {
    if (priority.isAwaited) return;
    priority.isAwaited = true;
    const waiting = this.#take(priority);
    if (waiting === undefined) return;
    this.#awaited.push(waiting);
    this.#dispatch();
  }

  /** Nobody needs this refresh any more, unless a request waits for it. */
  abandon(priority: Priority): void {
    this.#take(priority)?.resolve(undefined);
  }

  /**
   * @param key of the set that got the answer
   * @param pauseMs the pause of that set
   * @returns the pause of the address, for the other replicas, if this answer causes one
   */
  onAnswer(key: string, answer: TokenAnswer, pauseMs: number): EndpointPause | undefined {
    const nowMs = this.#clock.nowMs();
    if (answer.kind === "issued") {
      this.#throttled.delete(key);
      this.#longestPauseMs = firstLongestPauseMs / 2;
      this.#issuedMs = [...this.#issuedMs.filter((atMs) => atMs > nowMs - 1_000), nowMs];
      return undefined;
    }
    const isThrottled = answer.kind === "throttled";
    const retryAfterMs = "retryAfterMs" in answer ? answer.retryAfterMs : undefined;
    const demandedMs = retryAfterMs ?? (isThrottled ? pauseMs : undefined);
    if (demandedMs === undefined || answer.status === undefined) return undefined;
    if (isThrottled && this.#hasOwnLimit(key, nowMs)) return undefined;
    if (this.pause() === undefined) this.#longestPauseMs *= 2;
    const remainingMs = Math.min(demandedMs, this.#longestPauseMs);
    const shared = { kind: "throttled", status: answer.status, failures: 0, remainingMs } as const;
    this.mergeShared(shared);
    return shared;
  }

  /** The longer pause applies: this process's own, or another replica's. */
  mergeShared(shared: EndpointPause | undefined): void {
    const nowMs = this.#clock.nowMs();
    if (shared === undefined || shared.remainingMs <= 0) return;
    const untilMs = nowMs + shared.remainingMs;
    const open = this.pause();
    if (untilMs <= (open?.untilMs ?? nowMs)) return;
    if (open === undefined) {
      const accepted = this.#issuedMs.filter((atMs) => atMs > nowMs - 1_000).length;
      this.#rateAfterPause = Math.max(lowestRate, shareOfRate * accepted);
    }
    this.#pauseEndsMs = untilMs;
    this.#pause = { kind: "throttled", untilMs, status: shared.status, cause: "pause of its address" };
    this.#dispatch();
  }

  #hasOwnLimit(key: string, nowMs: number): boolean {
    const before = this.#throttled.get(key);
    const haveOthersTokens = before !== undefined && (this.#issuedMs.at(-1) ?? 0) > before.atMs;
    const times = (before?.times ?? 0) + (before === undefined || haveOthersTokens ? 1 : 0);
    this.#throttled.set(key, { times, atMs: nowMs });
    return times >= ownLimitAfter;
  }

  #take(priority: Priority): Waiting | undefined {
    const index = this.#background.findIndex((waiting) => waiting.priority === priority);
    return index === -1 ? undefined : this.#background.splice(index, 1)[0];
  }

  #dispatch(): void {
    this.#cancelTimer();
    this.#timerMs = undefined;
    const long = this.longPause();
    if (long !== undefined) for (const { resolve } of this.#awaited.splice(0)) resolve(long);
    while (this.#running < mostAtOnce) {
      const isAwaited = this.#awaited.length > 0;
      if (!isAwaited && (this.#background.length === 0 || this.#runningInBackground >= mostInBackground)) return;
      const nowMs = this.#clock.nowMs();
      const atMs = this.#earliestMs(isAwaited, nowMs);
      if (atMs > nowMs) {
        this.#timerMs = atMs;
        this.#cancelTimer = this.#clock.after(atMs - nowMs, () => this.#dispatch());
        return;
      }
      const next = isAwaited ? this.#awaited.shift() : this.#background.shift();
      next?.resolve(this.#begin(isAwaited, nowMs));
    }
  }

  #earliestMs(isAwaited: boolean, nowMs: number): number {
    const secondsSincePause = (nowMs - this.#pauseEndsMs) / 1_000;
    const rate = (this.#rateAfterPause ?? Number.POSITIVE_INFINITY) * growthOfRate ** Math.max(0, secondsSincePause);
    const earliestMs = Math.max(this.pause()?.untilMs ?? 0, this.#startedMs + 1_000 / rate);
    if (isAwaited) return earliestMs;
    // Time enough for each set, and for all sets that end before it.
    let gapMs = this.#gapMs;
    for (const [n, { latestMs }] of this.#background.entries()) gapMs = Math.min(gapMs, (latestMs - nowMs) / (n + 1));
    return Math.max(earliestMs, this.#startedInBackgroundMs + gapMs);
  }

  #begin(isAwaited: boolean, nowMs: number): Turn {
    this.#running += 1;
    this.#startedMs = nowMs;
    if (!isAwaited) {
      this.#runningInBackground += 1;
      this.#startedInBackgroundMs = nowMs;
      if (this.#sets > fewSets) this.#gapMs = (spreadMs / this.#sets) * (0.5 + this.#random());
      else this.#gapMs = this.#runningInBackground < mostInBackground ? 0 : longestGapMs * this.#random();
    }
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      this.#running -= 1;
      if (!isAwaited) this.#runningInBackground -= 1;
      this.#dispatch();
    };
  }
}

/** Keeps the order of `latestMs`; of equal ones the first comes first. */
function insert(sorted: Waiting[], waiting: Waiting): void {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sorted[middle]?.latestMs ?? 0) <= waiting.latestMs) from = middle + 1;
    else to = middle;
  }
  sorted.splice(from, 0, waiting);
}
