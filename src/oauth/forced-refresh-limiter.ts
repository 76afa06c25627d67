import type { Clock } from "../model/clock.ts";
import type { SuppressionReason } from "../model/events.ts";
import { isNewer, type Token } from "./token.ts";
import {
  everySite,
  type ForcedRefreshes,
  forcedRefreshMemoryMs,
  type LimitsSnapshot,
  type UselessCounts,
} from "./token-store.ts";

/**
 * One revocation may soon follow another: this many doubtful refreshes in a row open no window. This many useless refreshes
 * of other sites do not delay a site that has accepted tokens.
 */
export const freeRefreshes = 3;
/** A site's first window, in which its 401s force no refresh; each further useless refresh in a row doubles it. */
export const firstWindowMs = 10_000;
const longestWindowMs = 900_000;
/**
 * A site that has not accepted this token waits this long after a useless refresh of any site: three a minute (row 39).
 */
const anySiteWindowMs = 20_000;
/** This many 401s in a row, after the site has accepted the token, show that it is revoked. */
const provingRun = 3;

/** How long the site's next refresh waits after this many useless refreshes in a row. */
export function windowMs(useless: number): number {
  return useless <= freeRefreshes ? 0 : Math.min(firstWindowMs * 2 ** (useless - freeRefreshes - 1), longestWindowMs);
}

/** What this replica knows from one site's answers. */
interface SiteState {
  /** The newest token that it accepted. */
  accepted: Token | undefined;
  /** 401s in a row for that token. */
  run: number;
  enough: number;
  /** The newest refresh that a 401 has forced, until its retry is accepted. */
  forced: ForcedRefresh | undefined;
}

interface ForcedRefresh {
  /** The new token's `id`, and the former token's. */
  readonly id: string;
  readonly formerId: string;
  /** How many useless refreshes in a row came before this refresh. */
  readonly useless: number;
  /** 401s in a row for the former token, later ones included. */
  readonly run: number;
  /** The refresh was made within the window, for a token that seemed revoked. */
  readonly brokeWindow: boolean;
}

/**
 * Decides, for one credential set, whether a 401 may force a token request. A permission problem of one site must not become a
 * flood of token requests, and must not keep a revoked token from being replaced.
 *
 * All replicas share the counts: the methods return new counts for the other replicas, and `mergeShared` takes over
 * theirs. Each replica sees for itself what a site accepts and refuses.
 */
export class ForcedRefreshLimiter {
  readonly #clock: Clock;
  /** Both maps are bounded by the configured sites. */
  readonly #sites = new Map<string, SiteState>();
  readonly #counts = new Map<string, { readonly useless: number; readonly atMs: number; readonly isOwn: boolean }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why a 401 to this token must force no refresh now; undefined if it may. A revoked token waits at most `firstWindowMs`. */
  suppression(site: string, token: Token): SuppressionReason | undefined {
    const { accepted, run, enough } = this.#stateOf(site);
    const ofSite = this.#count(site);
    const ofAny = this.#count(everySite);
    const isProven = accepted?.id === token.id;
    const longestMs = isProven && run >= enough ? firstWindowMs : longestWindowMs;
    if (ofSite.ageMs < Math.min(windowMs(ofSite.useless), longestMs)) return "paused";
    const free = accepted === undefined ? 0 : freeRefreshes;
    return !isProven && ofAny.useless > free && ofAny.ageMs < anySiteWindowMs ? "limited" : undefined;
  }

  /** The service accepted a first attempt. Called for every answer except 401 and 5xx. */
  accepted(site: string, token: Token): void {
    const state = this.#stateOf(site);
    if (isNewer(token, state.accepted)) state.accepted = token;
    if (state.accepted?.id === token.id) state.run = 0;
  }

  /** The service answered 401 to a first attempt. */
  refused(site: string, token: Token): void {
    const state = this.#stateOf(site);
    const { forced } = state;
    if (state.accepted?.id === token.id) state.run += 1;
    if (forced?.formerId === token.id) state.forced = { ...forced, run: forced.run + 1 };
  }

  /**
   * A refresh was forced for this site's 401 to the former token, and brought this token. The refresh counts as useless until
   * a retry is accepted.
   */
  forced(site: string, { id }: Token, former: Token): UselessCounts {
    const state = this.#stateOf(site);
    const { useless, ageMs } = this.#count(site);
    const run = state.accepted?.id === former.id ? state.run : 1;
    const brokeWindow = ageMs < windowMs(useless);
    if (brokeWindow) state.enough *= 2;
    else if (useless === 0) state.enough = provingRun;
    state.forced = { useless, run, brokeWindow, formerId: former.id, id };
    return this.#record(site, Math.max(useless, freeRefreshes) + 1, this.#count(everySite).useless + 1);
  }

  /**
   * The service accepted the retry of a request that it had refused. After fewer 401s in a row than `provingRun` the refresh
   * still counts: they may have been chance. Else the window ends, unless the refresh was made within a window.
   * @returns the new counts for the other replicas; undefined if nothing changes for them
   */
  cured(site: string, token: Token): UselessCounts | undefined {
    this.accepted(site, token);
    const state = this.#stateOf(site);
    const { forced } = state;
    if (forced?.id !== token.id) {
      // Another replica's token has cured the site: the count that was read is older, and Redis may be unreachable since.
      if (this.#counts.get(site)?.isOwn === false) this.#counts.delete(site);
      return undefined;
    }
    state.forced = undefined;
    const { useless, run, brokeWindow } = forced;
    const ofRun = brokeWindow ? useless : 0;
    return this.#record(site, run < provingRun ? useless + 1 : ofRun, 0);
  }

  /** The counts read last apply, unless this replica has counted since. A slow read makes a count seem younger than it is. */
  mergeShared(forced: LimitsSnapshot["forced"]): void {
    const nowMs = this.#clock.nowMs();
    for (const [name, { useless, ageMs }] of forced) {
      const atMs = nowMs - ageMs;
      const known = this.#counts.get(name);
      if (!known?.isOwn || atMs > known.atMs) this.#counts.set(name, { useless, atMs, isOwn: false });
    }
  }

  #record(site: string, ofSite: number, ofAnySite: number): UselessCounts {
    const useless = new Map([
      [site, ofSite],
      [everySite, ofAnySite],
    ]);
    const atMs = this.#clock.nowMs();
    for (const [name, count] of useless) this.#counts.set(name, { useless: count, atMs, isOwn: true });
    return useless;
  }

  #count(name: string): ForcedRefreshes {
    const { useless = 0, atMs = Number.NEGATIVE_INFINITY } = this.#counts.get(name) ?? {};
    const ageMs = this.#clock.nowMs() - atMs;
    return { useless: ageMs < forcedRefreshMemoryMs ? useless : 0, ageMs };
  }

  #stateOf(site: string): SiteState {
    const known = this.#sites.get(site);
    if (known !== undefined) return known;
    const fresh: SiteState = { accepted: undefined, run: 0, enough: provingRun, forced: undefined };
    this.#sites.set(site, fresh);
    return fresh;
  }
}
