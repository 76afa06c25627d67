import type { Clock } from "../model/clock.ts";
import type { SuppressionReason } from "../model/events.ts";
import { type ForcedRefresh, ForcedRefreshLog } from "./forced-refresh-log.ts";
import { type AnswerHistory, afterAcceptance, looksDead, noAnswers, suppressionOf } from "./forced-refresh-policy.ts";
import { type LimitsSnapshot, longestSitePauseMs, type RefreshEvent } from "./shared-limits.ts";
import { isNewer, type Token } from "./token.ts";

const firstPauseMs = 30_000;

/** What the service's answers to one site say of the set's tokens. */
interface SiteState {
  /** The newest token it accepted. */
  accepted: Token | undefined;
  /** The newest token it refused on a retry. */
  refused: Token | undefined;
  pauseMs: number;
  pausedUntilMs: number;
  history: AnswerHistory;
  /** A forced refresh brought this token once more, by its `id`: another would not help. */
  repeatedToken: string | undefined;
}

/**
 * Decides, for one credential set, whether a 401 may cost a token. A permission problem of one site must not become a
 * flood of token requests, and must not keep another site's revoked token from being replaced.
 *
 * - A site whose retry with a new token was refused pauses: 30 s, doubling up to 15 min, until a token is accepted.
 * - Forced refreshes that recovered no request are limited to a few a minute. One counts from the moment it is made. It
 *   counts no longer once its site has accepted the token, and never again once a refused request was accepted.
 * - A refresh that recovered a request may have been needless where others accepted the former token: a few a minute.
 * - Where a token was accepted and then is refused without exception, it is dead: that ends the pause.
 *
 * The figures and the rule itself are in forced-refresh-policy.ts. The events that the methods return are for the other
 * replicas; theirs come with `mergeShared`.
 */
export class ForcedRefreshLimiter {
  readonly #clock: Clock;
  /** Bounded by the configured sites. */
  readonly #sites = new Map<string, SiteState>();
  readonly #log: ForcedRefreshLog;
  /** Of the newest forced refresh here, unless it recovered a request. A slow service may refuse it after the log forgot it. */
  #newestForced: string | undefined;
  #sharedPauses = new Map<string, { readonly pauseMs: number; readonly untilMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#log = new ForcedRefreshLog(clock);
  }

  /** Why a forced refresh must not be made now for this site's refused token; undefined when it may. */
  suppression(site: string, token: Token): SuppressionReason | undefined {
    const { pausedUntilMs, accepted, refused, history, repeatedToken } = this.#stateOf(site);
    const sharedUntilMs = this.#sharedPauses.get(site)?.untilMs ?? 0;
    const refreshes = this.#log.refreshes();
    const useless = uselessOf(refreshes);
    const doubtful = refreshes.filter(({ isDoubtful }) => isDoubtful);
    const isAccepted = accepted?.id === token.id || this.#log.has({ token: token.id, site }, "accepted", "recovered");
    return suppressionOf({
      isPaused: this.#clock.nowMs() < Math.max(pausedUntilMs, sharedUntilMs),
      isProven: isAccepted && repeatedToken !== token.id,
      isTrusted:
        accepted !== undefined &&
        isNewer(accepted, refused) &&
        !useless.some((made) => made.status === "failed" && made.site === site),
      history,
      uselessTokens: countTokens(useless),
      doubtfulTokens: countTokens(doubtful.filter(({ token }) => !useless.some((made) => made.token === token))),
      doubtfulOfSite: countTokens(doubtful.filter((made) => made.site === site)),
    });
  }

  /** The service answered 401 to a first attempt. */
  refused(site: string, token: Token): void {
    const state = this.#stateOf(site);
    // A late answer to an older token says nothing of the present one.
    if (state.accepted !== undefined && isNewer(state.accepted, token)) return;
    state.history = { ...state.history, run: state.history.run + 1 };
  }

  /** A refresh was forced for this site's 401 to the former token, and brought this one. */
  forced(site: string, token: Token, former: Token | undefined): RefreshEvent {
    const isDoubtful = former !== undefined && this.#mayBeSound(site, former);
    this.#newestForced = token.id;
    return this.#record({ kind: isDoubtful ? "doubtful" : "forced", token: token.id, site });
  }

  /** Some site's requests were accepted with this token, and nothing shows that it is dead: this 401 may be chance. */
  #mayBeSound(site: string, token: Token): boolean {
    const isAccepted =
      [...this.#sites.values()].some(({ accepted }) => accepted?.id === token.id) ||
      this.#log.refreshes().some((made) => made.token === token.id && made.isAccepted);
    return isAccepted && !looksDead({ isProven: true, history: this.#stateOf(site).history });
  }

  /** Runs for every answer that is no 401. An event only where it changes what the replicas know. */
  accepted(site: string, token: Token): RefreshEvent | undefined {
    const state = this.#stateOf(site);
    const name = { token: token.id, site };
    const isFirst = isNewer(token, state.accepted);
    // A run that ended with the former token was that token's.
    if (isFirst) state.history = { ...state.history, run: 0 };
    if (isFirst || state.accepted?.id === token.id) state.history = afterAcceptance(state.history);
    const isPending =
      this.#log.has(name, "forced", "doubtful") && !this.#log.has(name, "accepted", "failed", "recovered");
    const wasPaused = isFirst && (state.pauseMs > 0 || this.#sharedPauses.has(site));
    if (isFirst) {
      Object.assign(state, { accepted: token, pauseMs: 0, pausedUntilMs: 0, repeatedToken: undefined });
      this.#sharedPauses.delete(site);
    }
    return isPending || wasPaused ? this.#record({ kind: "accepted", ...name }) : undefined;
  }

  /** The service accepted a retry: the request was refused before, so the new token has recovered it. */
  recovered(site: string, token: Token): RefreshEvent | undefined {
    this.accepted(site, token);
    if (this.#newestForced === token.id) this.#newestForced = undefined;
    const name = { token: token.id, site };
    return this.#log.has(name, "recovered") ? undefined : this.#record({ kind: "recovered", ...name });
  }

  /**
   * The retry was refused too. A token that no 401 had forced says nothing: it may have been revoked with the one before
   * it. One that this site has accepted was revoked since: it need not pause. One that recovered another request of the
   * site is sound: the trouble is this request's own.
   */
  refusedAgain(site: string, token: Token): RefreshEvent | undefined {
    const name = { token: token.id, site };
    if (this.#log.has(name, "recovered")) return undefined;
    const isForced = token.id === this.#newestForced || this.#log.refreshes().some((made) => made.token === token.id);
    if (!isForced) return undefined;
    const state = this.#stateOf(site);
    const isNews = isNewer(token, state.accepted) && isNewer(token, state.refused);
    if (!isNews) return this.#log.has(name, "failed") ? undefined : this.#record({ kind: "failed", ...name });
    state.refused = token;
    return this.#pause(site, token, token.id);
  }

  /** A forced refresh brought the refused token once more: it counts by itself, and no answer takes it back. */
  repeatedToken(site: string, token: Token): RefreshEvent {
    this.#stateOf(site).repeatedToken = token.id;
    return this.#pause(site, token, `${token.id}.${Math.round(this.#clock.nowMs()).toString(36)}`);
  }

  /** The pause doubles once for each token, however many replicas see it refused. */
  #pause(site: string, token: Token, id: string): RefreshEvent {
    const state = this.#stateOf(site);
    const sharedMs = this.#sharedPauses.get(site)?.pauseMs ?? 0;
    const isShared = sharedMs > 0 && this.#log.has({ token: token.id, site }, "failed");
    const doubledMs = Math.min(longestSitePauseMs, Math.max(firstPauseMs, state.pauseMs * 2, sharedMs * 2));
    state.pauseMs = isShared ? sharedMs : doubledMs;
    state.pausedUntilMs = this.#clock.nowMs() + state.pauseMs;
    return this.#record({ kind: "failed", token: id, site, pauseMs: state.pauseMs });
  }

  mergeShared({ sites, facts }: LimitsSnapshot): void {
    const nowMs = this.#clock.nowMs();
    this.#log.merge(facts);
    this.#sharedPauses = new Map(
      [...sites].map(([site, { pauseMs, remainingMs }]) => [site, { pauseMs, untilMs: nowMs + remainingMs }]),
    );
  }

  #record(event: RefreshEvent): RefreshEvent {
    this.#log.add(event);
    return event;
  }

  #stateOf(site: string): SiteState {
    const known = this.#sites.get(site);
    if (known !== undefined) return known;
    const fresh: SiteState = {
      accepted: undefined,
      refused: undefined,
      pauseMs: 0,
      pausedUntilMs: 0,
      history: noAnswers,
      repeatedToken: undefined,
    };
    this.#sites.set(site, fresh);
    return fresh;
  }
}

/** Those that recovered no request so far. A token that recovered one is not useless, whatever other sites say. */
function uselessOf(refreshes: readonly ForcedRefresh[]): readonly ForcedRefresh[] {
  const recovered = new Set(refreshes.flatMap(({ status, token }) => (status === "recovered" ? [token] : [])));
  return refreshes.filter(({ status, token }) => status !== "accepted" && !recovered.has(token));
}

function countTokens(refreshes: readonly ForcedRefresh[]): number {
  return new Set(refreshes.map(({ token }) => token)).size;
}
