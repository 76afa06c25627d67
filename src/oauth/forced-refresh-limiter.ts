import type { Clock } from "../model/clock.ts";
import type { SuppressionReason } from "../model/events.ts";
import { ForcedRefreshCounts, firstWindowMs } from "./forced-refresh-counts.ts";
import { SiteAnswers } from "./site-answers.ts";
import type { Token } from "./token.ts";
import { everySite, type ForcedCounts, forcedRefreshMemoryMs } from "./token-store.ts";

/** A site that has not accepted this token may be in order, so other sites' useless refreshes delay it for no longer. */
const longestWindowOfOthersMs = 60_000;
/** This many tokens in a row that no site has accepted delay even a site that has accepted earlier ones. */
const mostUnaccepted = 3;
/** What a site has spent comes back evenly within this time. */
const budgetMs = forcedRefreshMemoryMs;
const cureCostMs = budgetMs / 6;
/** It may turn out so: a refresh is forced only while this much is left. */
const uselessCostMs = 2 * cureCostMs;
/** This many 401s in a row for a token that the site has accepted show that the token is revoked. */
const provingRun = 3;

/**
 * Decides, for one credential set, whether a site's 401 may force a token request.
 *
 * 1. A forced refresh is a cure if a retry with its token is accepted. Until then it counts as useless, and opens a window:
 *    10 s, twice as long after each further one, at most 15 min. Within it the site's 401s force nothing. A cure ends it.
 * 2. A budget bounds cures by chance: a site has at most twelve forced refreshes in an hour. A useless one counts twice.
 * 3. In spite of window and budget, a token is replaced that proves to be revoked: the site has accepted it (without budget,
 *    an earlier one will do), and has refused several attempts in a row since. Without budget, ten seconds of this prove it too.
 *
 * All replicas share the counts. Each replica sees for itself what a site accepts and refuses.
 */
export class ForcedRefreshLimiter {
  readonly counts: ForcedRefreshCounts;
  readonly answers: SiteAnswers;
  readonly #clock: Clock;
  /** By site: the `id` of the token that a refresh brought, until a retry with it is answered. */
  readonly #pending = new Map<string, string>();
  /** Forced tokens in a row that no site has accepted. */
  #unaccepted = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.counts = new ForcedRefreshCounts(clock);
    this.answers = new SiteAnswers(clock);
  }

  /** Why a 401 to this token must force no refresh now; undefined if it may. */
  suppression(site: string, token: Token): SuppressionReason | undefined {
    const { useless, ageMs, spentMs } = this.counts.of(site);
    const { accepted, run, runSinceMs } = this.answers.of(site);
    const hasAccepted = accepted?.id === token.id;
    const isPaused = this.counts.isWithinWindow(site);
    const missingMs = spentMs + uselessCostMs - budgetMs;
    if (!isPaused && missingMs <= 0) {
      const waits = accepted === undefined || (!hasAccepted && this.#unaccepted > mostUnaccepted);
      return waits && this.counts.isWithinWindow(everySite, longestWindowOfOthersMs) ? "limited" : undefined;
    }
    // Each refresh beyond the budget, and each useless one, may have followed a run of chance: the next needs a longer run.
    const enough = provingRun * 2 ** useless + Math.max(0, Math.ceil(missingMs / cureCostMs));
    const isLong = !isPaused && run > 0 && this.#clock.nowMs() - runSinceMs >= firstWindowMs;
    if (this.#isDoubtful(site, token) && ageMs >= firstWindowMs && (run >= enough || isLong)) return undefined;
    return isPaused ? "paused" : "limited";
  }

  /** Whether the site's next answers decide about this 401: its budget is spent, and the token may be revoked. */
  isUndecided(site: string, token: Token): boolean {
    return this.#isDoubtful(site, token) && this.suppression(site, token) === "limited";
  }

  /** The site has accepted this token, or an earlier one that cured it, and nothing but 401s came since. */
  #isDoubtful(site: string, token: Token): boolean {
    const { accepted, run } = this.answers.of(site);
    return run > 0 && (accepted?.id === token.id || this.counts.of(site).useless === 0);
  }

  /** Whether a retry may use a newer token. One that may be revoked too is used only if there will be no other. */
  mayRetryWith(newer: Token, site: string, refused: Token): boolean {
    if (this.answers.mayCure(newer, refused)) return true;
    return this.suppression(site, refused) !== undefined && !this.isUndecided(site, refused);
  }

  /** The service accepted an attempt with this token: its answer was neither 401 nor 5xx. */
  accepted(site: string, token: Token, sentAtMs: number): void {
    if (!this.answers.accepted(site, token, sentAtMs)) return;
    this.#unaccepted = 0;
    this.counts.forgetShared(site);
  }

  /**
   * The service accepted the retry of a request with this token, after a 401 to another token.
   * @returns new counts for the other replicas, if this replica has forced the token
   */
  cured(site: string, token: Token, sentAtMs: number): ForcedCounts | undefined {
    this.accepted(site, token, sentAtMs);
    if (this.#pending.get(site) !== token.id) return undefined;
    this.#pending.delete(site);
    return this.counts.record(site, 0, this.counts.of(site).spentMs - cureCostMs, 0);
  }

  /** The service answered 401 to an attempt with this token. */
  refused(site: string, token: Token): void {
    this.answers.refused(site, token);
    if (this.#pending.get(site) === token.id) this.#pending.delete(site);
  }

  /**
   * A refresh was forced for this site's 401 to the former token, and brought this token.
   * @returns new counts for the other replicas
   */
  forced(site: string, token: Token, former: Token): ForcedCounts {
    if (token.id === former.id) this.#pending.delete(site);
    else this.#pending.set(site, token.id);
    this.#unaccepted += 1;
    const { useless, spentMs } = this.counts.of(site);
    return this.counts.record(site, useless + 1, spentMs + uselessCostMs, this.counts.of(everySite).useless + 1);
  }
}
