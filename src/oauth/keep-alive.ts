import type { Cancel, Clock } from "../model/clock.ts";
import { dueAtMs, expiredAtMs, type Thresholds, type Token } from "./token.ts";

export interface KeepAliveTasks {
  /** Starts a refresh of the token in use. Returns when to ring again if none could be started (monotonic). */
  refresh(): number | undefined;
  /** The token has reached its end. */
  lapse(): void;
}

/**
 * The one timer of a set: it rings when the token is due, again for further tries, and last at the token's end. A token
 * that was used within its last lifetime is kept alive; an idle one lapses.
 */
export class KeepAlive {
  readonly #clock: Clock;
  readonly #thresholds: Thresholds;
  readonly #tasks: KeepAliveTasks;
  #usedAtMs = Number.NEGATIVE_INFINITY;
  #cancel: Cancel = () => {};
  #isClosed = false;

  constructor(clock: Clock, thresholds: Thresholds, tasks: KeepAliveTasks) {
    this.#clock = clock;
    this.#thresholds = thresholds;
    this.#tasks = tasks;
  }

  /** When a token last went out with a request (monotonic). */
  get usedAtMs(): number {
    return this.#usedAtMs;
  }

  /** A token went out with a request. */
  noteUse(atMs = this.#clock.nowMs()): void {
    this.#usedAtMs = atMs;
  }

  /** @param notBeforeMs the end of a pause (monotonic) */
  schedule(token: Token, notBeforeMs = 0): void {
    if (this.#isClosed) return;
    this.#cancel();
    const endMs = expiredAtMs(token, this.#thresholds);
    const ringAtMs = Math.min(Math.max(notBeforeMs, dueAtMs(token, this.#thresholds)), endMs);
    this.#cancel = this.#clock.after(ringAtMs - this.#clock.nowMs(), () => this.#ring(token, endMs));
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  #ring(token: Token, endMs: number): void {
    const now = this.#clock.nowMs();
    if (now >= endMs) {
      this.#tasks.lapse();
      return;
    }
    const isInUse = this.#usedAtMs >= now - token.lifetimeMs;
    const againAtMs = isInUse ? this.#tasks.refresh() : endMs;
    if (againAtMs !== undefined) this.schedule(token, againAtMs);
  }
}
