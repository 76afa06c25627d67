import type { Clock } from "../clock.ts";
import type { SuppressionReason } from "../events.ts";
import type { Token } from "./token.ts";

const firstPauseMs = 30_000;
const longestPauseMs = 900_000;
const limitPerMinute = 3;
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

/**
 * Decides, for one credential set, whether a 401 may cost a token. A permission problem of one site must not become a
 * flood of token requests, and must not keep another site's revoked token from being replaced at once.
 *
 * - A site whose retry with a new token was refused pauses: 30 s, doubling up to 15 min, until a token is accepted.
 * - At most three forced refreshes that cured nothing are made in a minute, whichever sites asked.
 * - A site whose previous token was accepted is bound by neither.
 */
export class Unauthorized {
  readonly #clock: Clock;
  /** Bounded by the configured sites. */
  readonly #verdicts = new Map<string, Verdict>();
  /** When refreshes that cured nothing happened, by order of issue; the last minute only. */
  readonly #useless = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why a forced refresh must not be made for this site now; undefined when it may. */
  suppression(site: string): SuppressionReason | undefined {
    const verdict = this.#verdictOf(site);
    const now = this.#clock.nowMs();
    if (now < verdict.pausedUntilMs) return "paused";
    if (verdict.acceptedIssue > verdict.refusedIssue) return undefined;
    return this.#uselessWithinMinute(now) >= limitPerMinute ? "limited" : undefined;
  }

  accepted(site: string, token: Token): void {
    const verdict = this.#verdictOf(site);
    if (token.issue <= verdict.acceptedIssue) return;
    verdict.acceptedIssue = token.issue;
    verdict.pauseMs = 0;
    verdict.pausedUntilMs = 0;
  }

  /** The retry was refused too. A token that this site has accepted before was revoked since: that is no permission problem. */
  refusedAgain(site: string, token: Token): void {
    const verdict = this.#verdictOf(site);
    const now = this.#clock.nowMs();
    this.#useless.set(token.issue, now);
    if (token.issue <= verdict.acceptedIssue || token.issue <= verdict.refusedIssue) return;
    verdict.refusedIssue = token.issue;
    verdict.pauseMs = Math.min(longestPauseMs, verdict.pauseMs === 0 ? firstPauseMs : verdict.pauseMs * 2);
    verdict.pausedUntilMs = now + verdict.pauseMs;
  }

  #verdictOf(site: string): Verdict {
    const known = this.#verdicts.get(site);
    if (known !== undefined) return known;
    const fresh: Verdict = { acceptedIssue: 0, refusedIssue: 0, pauseMs: 0, pausedUntilMs: 0 };
    this.#verdicts.set(site, fresh);
    return fresh;
  }

  #uselessWithinMinute(now: number): number {
    for (const [issue, atMs] of this.#useless) {
      if (now - atMs >= minuteMs) this.#useless.delete(issue);
    }
    return this.#useless.size;
  }
}
