import type { Clock } from "../model/clock.ts";
import type { Secret } from "../model/secret.ts";
import { isNewer, type Token } from "./token.ts";

/** What one site's answers say of its tokens. */
interface Answers {
  /** The newest token that it accepted. */
  accepted: Token | undefined;
  /** 401s in a row since, for that token or a newer one, and when the first of them came. */
  run: number;
  runSinceMs: number;
}

/** What this replica sees the sites of one credential set accept and refuse. */
export class SiteAnswers {
  readonly #clock: Clock;
  /** Bounded by the configured sites. */
  readonly #answers = new Map<string, Answers>();
  /** When the last attempt was sent with which a site accepted the token; until then, since when this replica has it. */
  readonly #good = new WeakMap<Secret, { atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(site: string): Readonly<Answers> {
    return this.#of(site);
  }

  /** This replica has the token from now on: as far as it knows, the token is good. */
  adopted({ secret }: Token): void {
    if (!this.#good.has(secret)) this.#good.set(secret, { atMs: this.#clock.nowMs() });
  }

  /**
   * Whether a newer token may be good although the service refused this one: not if this one was still good after the newer one
   * was issued, since what ended this one later may have ended both.
   */
  mayCure(newer: Token, refused: Token): boolean {
    const { atMs } = this.#good.get(refused.secret) ?? { atMs: Number.NEGATIVE_INFINITY };
    return newer.issuedAtMs + newer.issuedWithinMs >= atMs;
  }

  /** @returns whether the site has accepted no token as new before */
  accepted(site: string, token: Token, sentAtMs: number): boolean {
    const good = this.#good.get(token.secret);
    if (good === undefined) this.#good.set(token.secret, { atMs: sentAtMs });
    else if (sentAtMs > good.atMs) good.atMs = sentAtMs;
    const answers = this.#of(site);
    const isFirst = isNewer(token, answers.accepted);
    if (isFirst) answers.accepted = token;
    // An attempt that was sent before the first 401 of the run says nothing of the time after it.
    if (isFirst || (answers.accepted?.id === token.id && sentAtMs >= answers.runSinceMs)) answers.run = 0;
    return isFirst;
  }

  refused(site: string, token: Token): void {
    const answers = this.#of(site);
    if (answers.accepted === undefined || isNewer(answers.accepted, token)) return;
    if (answers.run === 0) answers.runSinceMs = this.#clock.nowMs();
    answers.run += 1;
  }

  #of(site: string): Answers {
    const known = this.#answers.get(site);
    if (known !== undefined) return known;
    const fresh: Answers = { accepted: undefined, run: 0, runSinceMs: 0 };
    this.#answers.set(site, fresh);
    return fresh;
  }
}
