import type { Clock } from "../clock.ts";
import type { SuppressionReason } from "../events.ts";
import type { Token } from "./token.ts";

const firstPauseMs = 30_000;
const longestPauseMs = 900_000;
const limitPerMinute = 3;
const limitForTrusted = 6;
const minuteMs = 60_000;

/** What the service last thought of the set's tokens when one site used them. */
interface Verdict {
  /** Order of issue of the newest token it accepted; 0 when none. */
  acceptedIssue: number;
  /** Order of issue of the newest token it refused on a retry; 0 when none. */
  refusedIssue: number;
  pauseMs: number;
  pausedUntilMs: number;
}

/** A refresh that cured nothing, and whose 401 it was made for. */
interface Useless {
  readonly issue: number;
  readonly site: string;
  readonly atMs: number;
}

/**
 * Decides, for one credential set, whether a 401 may cost a token. A permission problem of one site must not become a
 * flood of token requests, and must not keep another site's revoked token from being replaced at once.
 *
 * - A site whose retry with a new token was refused pauses: 30 s, doubling up to 15 min, until a token is accepted.
 * - Three refreshes of the set that cured nothing within a minute are enough. A site that caused none of them, and whose
 *   last token was accepted, is not held back by that; but six are enough for everybody.
 */
export class Unauthorized {
  readonly #clock: Clock;
  /** Bounded by the configured sites. */
  readonly #verdicts = new Map<string, Verdict>();
  /** Those of the last minute; one for each token and site. */
  #useless: readonly Useless[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why a forced refresh must not be made for this site now; undefined when it may. */
  suppression(site: string): SuppressionReason | undefined {
    const { pausedUntilMs, acceptedIssue, refusedIssue } = this.#verdictOf(site);
    if (this.#clock.nowMs() < pausedUntilMs) return "paused";
    this.#forgetOld();
    const isTrusted = acceptedIssue > refusedIssue && !this.#useless.some((useless) => useless.site === site);
    const tokens = new Set(this.#useless.map(({ issue }) => issue)).size;
    return tokens >= (isTrusted ? limitForTrusted : limitPerMinute) ? "limited" : undefined;
  }

  accepted(site: string, token: Token): void {
    const verdict = this.#verdictOf(site);
    if (token.issue <= verdict.acceptedIssue) return;
    verdict.acceptedIssue = token.issue;
    verdict.pauseMs = 0;
    verdict.pausedUntilMs = 0;
  }

  /** The retry was refused too. A token that this site has accepted before was revoked since: it need not pause. */
  refusedAgain(site: string, token: Token): void {
    const verdict = this.#verdictOf(site);
    const { issue } = token;
    const atMs = this.#clock.nowMs();
    this.#forgetOld();
    const isKnown = this.#useless.some((useless) => useless.issue === issue && useless.site === site);
    if (!isKnown) this.#useless = [...this.#useless, { issue, site, atMs }];
    if (issue <= verdict.acceptedIssue || issue <= verdict.refusedIssue) return;
    verdict.refusedIssue = issue;
    verdict.pauseMs = Math.min(longestPauseMs, verdict.pauseMs === 0 ? firstPauseMs : verdict.pauseMs * 2);
    verdict.pausedUntilMs = atMs + verdict.pauseMs;
  }

  #verdictOf(site: string): Verdict {
    const known = this.#verdicts.get(site);
    if (known !== undefined) return known;
    const fresh: Verdict = { acceptedIssue: 0, refusedIssue: 0, pauseMs: 0, pausedUntilMs: 0 };
    this.#verdicts.set(site, fresh);
    return fresh;
  }

  #forgetOld(): void {
    const sinceMs = this.#clock.nowMs() - minuteMs;
    this.#useless = this.#useless.filter(({ atMs }) => atMs > sinceMs);
  }
}
