import type { Clock } from "../model/clock.ts";
import type { SuppressionReason } from "../model/events.ts";
import { type AnswerHistory, afterAcceptance, looksDead, noAnswers, suppressionOf } from "./forced-refresh-policy.ts";
import { longestTryList, type Note, type SharedLimits, type SharedTry, tryMemoryMs } from "./shared-limits.ts";
import { isNewer, type Token } from "./token.ts";

const firstPauseMs = 30_000;
const longestPauseMs = 900_000;

/** What the service last thought of the set's tokens when one site used them. */
interface Verdict {
  /** The newest token it accepted. */
  accepted: Token | undefined;
  /** The newest token it refused on a retry. */
  refused: Token | undefined;
  pauseMs: number;
  pausedUntilMs: number;
  history: AnswerHistory;
  /** A forced refresh brought this token once more, by its `id`: another would not help. */
  repeated: string | undefined;
}

/** A forced refresh. */
interface Try {
  readonly token: string;
  readonly site: string;
  /**
   * `open` until its site has accepted or refused the token, `useless` when a retry was refused. `accepted`: some request
   * was accepted, perhaps one that needed no new token. `cured`: a request that was refused before was accepted; final.
   */
  readonly fate: SharedTry["fate"];
  /** The token before may have been good. */
  readonly isDoubted: boolean;
  readonly atMs: number;
}

/**
 * Decides, for one credential set, whether a 401 may cost a token. A permission problem of one site must not become a
 * flood of token requests, and must not keep another site's revoked token from being replaced at once.
 *
 * - A site whose retry with a new token was refused pauses: 30 s, doubling up to 15 min, until a token is accepted.
 * - Refreshes of the set that cured nothing are limited to a few a minute. One counts from the moment it is made, and
 *   no longer once its site has accepted the token, or for good once a request was accepted that had been refused.
 * - A refresh that healed a request, while the token before was accepted by others, may have cured nothing: a few a minute.
 * - Where a token was accepted and then is refused without exception, it is dead: that ends the pause.
 *
 * The figures and the rule itself are in forced-refresh-policy.ts.
 *
 * What happens here is told to the other replicas by the notes that the methods return; what they tell is heard.
 */
export class ForcedRefreshLimiter {
  readonly #clock: Clock;
  /** Bounded by the configured sites. */
  readonly #verdicts = new Map<string, Verdict>();
  #own: readonly Try[] = [];
  /** What the others said last, which is replaced as a whole. */
  #heard: readonly (Try & Pick<SharedTry, "isAccepted">)[] = [];
  #heardPauses = new Map<string, { pauseMs: number; untilMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why a forced refresh must not be made now for this site's refused token; undefined when it may. */
  suppression(site: string, token: Token): SuppressionReason | undefined {
    const { pausedUntilMs, accepted, refused, history, repeated } = this.#verdictOf(site);
    const heardUntilMs = this.#heardPauses.get(site)?.untilMs ?? 0;
    const useless = this.#useless();
    const doubted = this.#doubted();
    return suppressionOf({
      isPaused: this.#clock.nowMs() < Math.max(pausedUntilMs, heardUntilMs),
      isProven: (accepted?.id === token.id || this.#isAcceptedElsewhere(site, token)) && repeated !== token.id,
      isTrusted:
        accepted !== undefined &&
        isNewer(accepted, refused) &&
        !useless.some((made) => made.fate === "useless" && made.site === site),
      history,
      uselessTokens: countTokens(useless),
      doubtedTokens: countTokens(doubted.filter(({ token }) => !useless.some((made) => made.token === token))),
      doubtedOfSite: countTokens(doubted.filter((made) => made.site === site)),
    });
  }

  /** Forced refreshes that cured nothing so far. What one request was cured by is not useless, whatever others say. */
  #useless(): readonly Try[] {
    const tries = this.#recent([...this.#own, ...this.#heard]);
    const cured = new Set(tries.flatMap(({ fate, token }) => (fate === "cured" ? [token] : [])));
    return tries.filter(({ fate, token }) => fate !== "accepted" && !cured.has(token));
  }

  /** Forced refreshes that may have been needless, whatever became of them. */
  #doubted(): readonly Try[] {
    return this.#recent([...this.#own, ...this.#heard]).filter(({ isDoubted }) => isDoubted);
  }

  /** The service took this token from some site, and nothing shows that it is dead: this site's 401 may be chance. */
  #isDoubtful(site: string, before: Token): boolean {
    const isAccepted =
      [...this.#verdicts.values()].some(({ accepted }) => accepted?.id === before.id) ||
      this.#heard.some((made) => made.token === before.id && made.isAccepted);
    return isAccepted && !looksDead({ isProven: true, history: this.#verdictOf(site).history });
  }

  #isAcceptedElsewhere(site: string, token: Token): boolean {
    return this.#heard.some((made) => isThat(made, token, site) && made.isAccepted);
  }

  /** The service answered 401 to a first attempt. */
  refused(site: string, token: Token): void {
    const verdict = this.#verdictOf(site);
    const { accepted, history } = verdict;
    // A late answer to an older token says nothing of the one in use.
    if (accepted !== undefined && isNewer(accepted, token)) return;
    verdict.history = { ...history, run: history.run + 1 };
  }

  /** A refresh was forced for this site's 401 to the token before, and brought this one. */
  tried(site: string, token: Token, before: Token | undefined): Note {
    const isDoubted = before !== undefined && this.#isDoubtful(site, before);
    this.#remember({ token: token.id, site, fate: "open", isDoubted, atMs: this.#clock.nowMs() });
    return { kind: "tried", token: token.id, site, isDoubted };
  }

  /** Runs for every answer: a note only where there was something to take back. */
  accepted(site: string, token: Token): Note | undefined {
    const verdict = this.#verdictOf(site);
    const isFirst = isNewer(token, verdict.accepted);
    // A run that ended with the token was the token's.
    if (isFirst) verdict.history = { ...verdict.history, run: 0 };
    if (isFirst || verdict.accepted?.id === token.id) verdict.history = afterAcceptance(verdict.history);
    const open = this.#own.find((made) => isThat(made, token, site) && made.fate === "open");
    if (!isFirst && open === undefined) return undefined;
    const wasPaused = verdict.pauseMs > 0 || this.#heardPauses.has(site);
    if (open !== undefined) this.#remember({ ...open, fate: "accepted" });
    if (isFirst) {
      Object.assign(verdict, { accepted: token, pauseMs: 0, pausedUntilMs: 0, repeated: undefined });
      this.#heardPauses.delete(site);
    }
    return open !== undefined || wasPaused ? { kind: "accepted", token: token.id, site } : undefined;
  }

  /** The service accepted a retry: the request was refused before, so the new token has cured it. */
  cured(site: string, token: Token): Note | undefined {
    this.accepted(site, token);
    if (this.#isCured(site, token)) return undefined;
    this.#remember({
      token: token.id,
      site,
      fate: "cured",
      isDoubted: this.#isDoubted(site, token),
      atMs: this.#clock.nowMs(),
    });
    return { kind: "cured", token: token.id, site };
  }

  #isDoubted(site: string, token: Token): boolean {
    return this.#own.some((made) => isThat(made, token, site) && made.isDoubted);
  }

  #isCured(site: string, token: Token): boolean {
    return [...this.#own, ...this.#heard].some((made) => isThat(made, token, site) && made.fate === "cured");
  }

  /**
   * The retry was refused too. A token that no 401 had forced says nothing: it may have been revoked with the one before
   * it. One that this site has accepted before was revoked since: it need not pause. One that cured another request of the
   * site is sound: the trouble is this request's own.
   */
  refusedAgain(site: string, token: Token): Note | undefined {
    if (this.#isCured(site, token)) return undefined;
    const wasForced = [...this.#own, ...this.#heard].some((made) => made.token === token.id);
    return wasForced ? this.#judge(site, token) : undefined;
  }

  /** A forced refresh brought the refused token once more: it counts by itself, and no answer takes it back. */
  triedInVain(site: string, token: Token): Note {
    const nowMs = this.#clock.nowMs();
    const verdict = this.#verdictOf(site);
    const pauseMs = this.#nextPauseMs(site, token, verdict);
    Object.assign(verdict, { pauseMs, pausedUntilMs: nowMs + pauseMs, repeated: token.id });
    const once = `${token.id}.${Math.round(nowMs).toString(36)}`;
    this.#remember({ token: once, site, fate: "useless", isDoubted: false, atMs: nowMs });
    return { kind: "useless", token: once, site, pauseMs };
  }

  #judge(site: string, token: Token): Note | undefined {
    const verdict = this.#verdictOf(site);
    const nowMs = this.#clock.nowMs();
    const isKnown = this.#own.some((made) => isThat(made, token, site) && made.fate === "useless");
    const isNews = isNewer(token, verdict.accepted) && isNewer(token, verdict.refused);
    if (isKnown && !isNews) return undefined;
    this.#remember({ token: token.id, site, fate: "useless", isDoubted: this.#isDoubted(site, token), atMs: nowMs });
    if (!isNews) return { kind: "useless", token: token.id, site, pauseMs: 0 };
    const pauseMs = this.#nextPauseMs(site, token, verdict);
    Object.assign(verdict, { refused: token, pauseMs, pausedUntilMs: nowMs + pauseMs });
    return { kind: "useless", token: token.id, site, pauseMs };
  }

  /** Doubles once for each token, however many replicas see it refused. */
  #nextPauseMs(site: string, token: Token, { pauseMs }: Verdict): number {
    const heardMs = this.#heardPauses.get(site)?.pauseMs ?? 0;
    const isHeard = this.#heard.some((made) => isThat(made, token, site) && made.fate === "useless");
    if (isHeard && heardMs > 0) return heardMs;
    return Math.min(longestPauseMs, Math.max(firstPauseMs, pauseMs * 2, heardMs * 2));
  }

  /** What all replicas have said. */
  hear({ sites, tries }: SharedLimits): void {
    const nowMs = this.#clock.nowMs();
    this.#heard = tries.map(({ ageMs, ...made }) => ({ ...made, atMs: nowMs - ageMs }));
    this.#heardPauses = new Map(
      [...sites].map(([site, { pauseMs, remainingMs }]) => [site, { pauseMs, untilMs: nowMs + remainingMs }]),
    );
  }

  #remember(made: Try): void {
    const others = this.#recent(this.#own).filter(({ token, site }) => token !== made.token || site !== made.site);
    this.#own = [...others, made].slice(-longestTryList);
  }

  #recent(tries: readonly Try[]): readonly Try[] {
    const sinceMs = this.#clock.nowMs() - tryMemoryMs;
    return tries.filter(({ atMs }) => atMs > sinceMs);
  }

  #verdictOf(site: string): Verdict {
    const known = this.#verdicts.get(site);
    if (known !== undefined) return known;
    const fresh: Verdict = {
      accepted: undefined,
      refused: undefined,
      pauseMs: 0,
      pausedUntilMs: 0,
      history: noAnswers,
      repeated: undefined,
    };
    this.#verdicts.set(site, fresh);
    return fresh;
  }
}

function countTokens(tries: readonly Try[]): number {
  return new Set(tries.map(({ token }) => token)).size;
}

function isThat(made: Try, token: Token, site: string): boolean {
  return made.token === token.id && made.site === site;
}
