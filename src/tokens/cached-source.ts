import type { Cancel } from "../clock.ts";
import { describeDefect } from "../defect.ts";
import type { RefreshReason } from "../events.ts";
import type { Pause } from "./conduct.ts";
import { type Refreshed, type RefreshParts, refresh } from "./refresh.ts";
import type { StoredToken } from "./store.ts";
import { dueAtMs, expiredAtMs, standing, type Thresholds, type Token } from "./token.ts";
import { within } from "./within.ts";

/** A token, the pause in its way, or `late` when it did not come in time. */
export type Obtained = { readonly token: Token } | { readonly pause: Pause } | "late";

/**
 * One credential set's token: memory first, then the shared store, then a refresh; one flight at a time in this
 * process. A flight is never cancelled: whoever stops waiting leaves it to the others.
 */
export class CachedSource {
  readonly #parts: RefreshParts;
  readonly #thresholds: Thresholds;
  #token: Token | undefined;
  #flight: Promise<Refreshed> | undefined;
  /** Order of issue of the newest token that the service has answered 401 to. */
  #refusedIssue = 0;
  #usedAtMs = Number.NEGATIVE_INFINITY;
  #cancelTimer: Cancel = () => {};

  constructor(parts: RefreshParts, thresholds: Thresholds) {
    this.#parts = parts;
    this.#thresholds = thresholds;
  }

  /** The pause in force towards the login host, if any. */
  get pause(): Pause | undefined {
    return this.#parts.conduct.pause();
  }

  /** The login host refused this set and has not accepted it since. */
  get isRefused(): boolean {
    return this.#parts.conduct.isRefused();
  }

  /** The service has refused its token, and the login host the set: it may still be good for other sites. */
  get isDoubtful(): boolean {
    return this.isRefused && this.#token !== undefined && this.#token.issue <= this.#refusedIssue;
  }

  get hasToken(): boolean {
    return this.#token !== undefined;
  }

  /** The token to attach now, without waiting. A due one starts a refresh that nobody waits for. */
  peek(): Token | undefined {
    const now = this.#parts.clock.nowMs();
    const token = this.#token;
    const state = token === undefined ? "expired" : standing(token, this.#thresholds, now);
    const { report } = this.#parts;
    report({ kind: "token_cache_read", tier: "memory", result: state === "expired" ? "miss" : "hit" });
    if (token === undefined || state === "expired") return undefined;
    if (state === "due") this.warm("due");
    return this.#attach(token);
  }

  /** Starts a refresh in the background unless one is running or a pause forbids it. */
  warm(reason: RefreshReason): void {
    void this.#refresh(reason);
  }

  /** Waits for a token, at most until the moment given (monotonic). */
  async obtain(untilMs: number): Promise<Obtained> {
    const { clock } = this.#parts;
    const reason = this.#token === undefined ? "missing" : "expired";
    const refreshed = await within(clock, this.#refresh(reason), untilMs - clock.nowMs());
    if (refreshed === undefined) return "late";
    if (refreshed.kind === "paused") return { pause: refreshed.pause };
    return { token: this.#attach(this.#adopt(refreshed, reason)) };
  }

  /**
   * A token newer than the refused one, by one forced refresh if need be. A late 401 for an old token finds the newer
   * one here and evicts nothing.
   */
  async replace(refused: Token, untilMs: number, mayForce: () => boolean): Promise<Token | undefined> {
    const { clock } = this.#parts;
    this.#refusedIssue = Math.max(this.#refusedIssue, refused.issue);
    if (this.#flight !== undefined && this.#newerThan(refused) === undefined) {
      await within(clock, this.#flight, untilMs - clock.nowMs());
    }
    const newer = this.#newerThan(refused);
    if (newer !== undefined) return this.#attach(newer);
    if (!mayForce()) return undefined;
    const refreshed = await within(clock, this.#refresh("unauthorized"), untilMs - clock.nowMs());
    return refreshed?.kind === "token" ? this.#attach(this.#adopt(refreshed, "unauthorized")) : undefined;
  }

  #newerThan(refused: Token): Token | undefined {
    return this.#token !== undefined && this.#token.issue > refused.issue ? this.#token : undefined;
  }

  /** A token goes out with a request: that is what keeps it alive. */
  #attach(token: Token): Token {
    const { clock, environment, set, report } = this.#parts;
    this.#usedAtMs = clock.nowMs();
    report({ kind: "token_used", environment, credential: set.label });
    return token;
  }

  /** Stops the timer; a running flight ends by itself. */
  close(): void {
    this.#cancelTimer();
  }

  #refresh(reason: RefreshReason): Promise<Refreshed> {
    if (this.#flight !== undefined) return this.#flight;
    const pause = this.pause;
    if (pause !== undefined && pause.kind !== "spacing") return Promise.resolve({ kind: "paused", pause });
    this.#flight = this.#fly(reason);
    return this.#flight;
  }

  async #fly(reason: RefreshReason): Promise<Refreshed> {
    const refreshed = await refresh(this.#parts, reason, this.#token?.issue ?? 0).catch((error) => this.#fail(error));
    this.#flight = undefined;
    if (refreshed.kind === "token") this.#adopt(refreshed, reason);
    else this.#schedule(refreshed.pause.untilMs);
    return refreshed;
  }

  /** The ports never throw; should one do so all the same, that is a failed refresh and nothing worse. */
  #fail(error: unknown): Refreshed {
    this.#parts.report({ kind: "defect", where: "refresh", error: describeDefect(error) });
    return { kind: "paused", pause: this.#parts.conduct.note({ kind: "failed", status: undefined }) };
  }

  /** The newest token wins: a flight that ends late never puts an older token back. */
  #adopt({ stored, issuedHere }: Extract<Refreshed, { kind: "token" }>, reason: RefreshReason): Token {
    if (this.#token !== undefined && this.#token.issue >= stored.issue) return this.#token;
    const { environment, set, report } = this.#parts;
    const token = this.#begin(stored);
    this.#token = token;
    report({
      kind: "token_adopted",
      environment,
      credential: set.label,
      issuedHere,
      reason,
      lifetimeMs: stored.lifetimeMs,
      remainingMs: stored.remainingMs,
    });
    this.#schedule();
    return token;
  }

  #begin(stored: StoredToken): Token {
    const ageMs = stored.lifetimeMs - stored.remainingMs;
    return {
      secret: stored.secret,
      credential: this.#parts.set.label,
      issue: stored.issue,
      issuedAtMs: this.#parts.clock.nowMs() - ageMs,
      lifetimeMs: stored.lifetimeMs,
    };
  }

  /**
   * One timer a set: first for the moment the token is due, then for further tries, last for its end.
   * @param notBeforeMs the end of a pause
   */
  #schedule(notBeforeMs = 0): void {
    this.#cancelTimer();
    const token = this.#token;
    if (token === undefined) return;
    const { clock } = this.#parts;
    const endMs = expiredAtMs(token, this.#thresholds);
    const wakeAtMs = Math.min(Math.max(notBeforeMs, dueAtMs(token, this.#thresholds)), endMs);
    this.#cancelTimer = clock.after(wakeAtMs - clock.nowMs(), () => this.#wake(token, endMs));
  }

  /** A token in use is kept alive; an idle one lapses. */
  #wake(token: Token, endMs: number): void {
    const { clock, environment, set, report } = this.#parts;
    const now = clock.nowMs();
    if (now >= endMs) {
      this.#token = undefined;
      report({ kind: "token_lapsed", environment, credential: set.label });
      return;
    }
    if (this.#usedAtMs >= now - token.lifetimeMs) this.warm("due");
    if (this.#flight === undefined) this.#schedule(this.pause?.untilMs ?? endMs);
  }
}
