import type { Clock } from "../clock.ts";
import type { SuppressionReason } from "../events.ts";
import { longestTryList, type Note, type SharedConduct, tryMemoryMs } from "./shared-conduct.ts";
import { isNewer, type Token } from "./token.ts";

const firstPauseMs = 30_000;
const longestPauseMs = 900_000;
const limitPerMinute = 3;
const limitForTrusted = 6;

/** What the service last thought of the set's tokens when one site used them. */
interface Verdict {
  /** The newest token it accepted. */
  accepted: Token | undefined;
  /** The newest token it refused on a retry. */
  refused: Token | undefined;
  pauseMs: number;
  pausedUntilMs: number;
}

/** A forced refresh. */
interface Try {
  readonly token: string;
  readonly site: string;
  /** `open` until its site has accepted or refused the token. A useless one stays so. */
  readonly fate: "open" | "cured" | "useless";
  readonly atMs: number;
}

/**
 * Decides, for one credential set, whether a 401 may cost a token. A permission problem of one site must not become a
 * flood of token requests, and must not keep another site's revoked token from being replaced at once.
 *
 * - A site whose retry with a new token was refused pauses: 30 s, doubling up to 15 min, until a token is accepted.
 * - Three refreshes of the set that cured nothing within a minute are enough. One counts from the moment it is made, and
 *   no longer once its site has accepted the token. A site that caused no useless one, and whose last token was
 *   accepted, is not held back by three; but six are enough for everybody.
 *
 * What happens here is told to the other replicas by the notes that the methods return; what they tell is heard.
 */
export class ForcedRefreshes {
  readonly #clock: Clock;
  /** Bounded by the configured sites. */
  readonly #verdicts = new Map<string, Verdict>();
  #own: readonly Try[] = [];
  /** What the others said last, which is replaced as a whole. */
  #heard: readonly Try[] = [];
  #heardPauses = new Map<string, { pauseMs: number; untilMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why a forced refresh must not be made for this site now; undefined when it may. */
  suppression(site: string): SuppressionReason | undefined {
    const { pausedUntilMs, accepted, refused } = this.#verdictOf(site);
    const heardUntilMs = this.#heardPauses.get(site)?.untilMs ?? 0;
    if (this.#clock.nowMs() < Math.max(pausedUntilMs, heardUntilMs)) return "paused";
    const tries = this.#recent([...this.#own, ...this.#heard]).filter(({ fate }) => fate !== "cured");
    const isTrusted =
      accepted !== undefined &&
      isNewer(accepted, refused) &&
      !tries.some((made) => made.fate === "useless" && made.site === site);
    const tokens = new Set(tries.map(({ token }) => token)).size;
    return tokens >= (isTrusted ? limitForTrusted : limitPerMinute) ? "limited" : undefined;
  }

  /** A refresh was forced for this site, and brought this token. */
  tried(site: string, token: Token): Note {
    this.#remember({ token: token.id, site, fate: "open", atMs: this.#clock.nowMs() });
    return { kind: "tried", token: token.id, site };
  }

  /** Runs for every answer: a note only where there was something to take back. */
  accepted(site: string, token: Token): Note | undefined {
    const verdict = this.#verdictOf(site);
    const isFirst = isNewer(token, verdict.accepted);
    const open = this.#own.find((made) => isThat(made, token, site) && made.fate === "open");
    if (!isFirst && open === undefined) return undefined;
    const wasPaused = verdict.pauseMs > 0 || this.#heardPauses.has(site);
    if (open !== undefined) this.#remember({ ...open, fate: "cured" });
    if (isFirst) {
      Object.assign(verdict, { accepted: token, pauseMs: 0, pausedUntilMs: 0 });
      this.#heardPauses.delete(site);
    }
    return open !== undefined || wasPaused ? { kind: "cured", token: token.id, site } : undefined;
  }

  /**
   * The retry was refused too. A token that no 401 had forced says nothing: it may have been revoked with the one before
   * it. One that this site has accepted before was revoked since: it need not pause.
   */
  refusedAgain(site: string, token: Token): Note | undefined {
    const wasForced = [...this.#own, ...this.#heard].some((made) => made.token === token.id);
    return wasForced ? this.#judge(site, token) : undefined;
  }

  /** A forced refresh brought the refused token once more: it counts by itself, and no answer takes it back. */
  triedInVain(site: string, token: Token): Note {
    const nowMs = this.#clock.nowMs();
    const verdict = this.#verdictOf(site);
    const pauseMs = this.#nextPauseMs(site, token, verdict);
    Object.assign(verdict, { pauseMs, pausedUntilMs: nowMs + pauseMs });
    const once = `${token.id}.${Math.round(nowMs).toString(36)}`;
    this.#remember({ token: once, site, fate: "useless", atMs: nowMs });
    return { kind: "useless", token: once, site, pauseMs };
  }

  #judge(site: string, token: Token): Note | undefined {
    const verdict = this.#verdictOf(site);
    const nowMs = this.#clock.nowMs();
    const isKnown = this.#own.some((made) => isThat(made, token, site) && made.fate === "useless");
    const isNews = isNewer(token, verdict.accepted) && isNewer(token, verdict.refused);
    if (isKnown && !isNews) return undefined;
    this.#remember({ token: token.id, site, fate: "useless", atMs: nowMs });
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
  hear({ sites, tries }: SharedConduct): void {
    const nowMs = this.#clock.nowMs();
    this.#heard = tries.map(({ token, site, isUseless, ageMs }) => {
      return { token, site, fate: isUseless ? "useless" : "open", atMs: nowMs - ageMs };
    });
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
    const fresh: Verdict = { accepted: undefined, refused: undefined, pauseMs: 0, pausedUntilMs: 0 };
    this.#verdicts.set(site, fresh);
    return fresh;
  }
}

function isThat(made: Try, token: Token, site: string): boolean {
  return made.token === token.id && made.site === site;
}
