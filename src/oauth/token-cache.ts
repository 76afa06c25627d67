import { type Cancel, sleep, within } from "../model/clock.ts";
import { describeDefect } from "../model/defect.ts";
import type { CredentialSet } from "../model/environment.ts";
import type { CredentialSnapshot, NoNewerToken } from "../model/events.ts";
import type { Priority } from "./address-limiter.ts";
import type { Pause } from "./endpoint-backoff.ts";
import { explainNoToken } from "./no-token.ts";
import { type Need, obstacleTo, type RefreshParts, type RefreshResult, refresh, republish } from "./refresh.ts";
import { endsAtMs, isNewer, type Token } from "./token.ts";
import { noAnswer } from "./token-endpoint.ts";
import {
  adopt,
  adoptFrom,
  afterRefresh,
  afterWake,
  anyToken,
  type Decision,
  decide,
  decideOnWake,
  initialState,
  isRefusedByService,
  nextWakeAt,
  type Situation,
  succeed,
  type TokenState,
} from "./token-state.ts";

/** A 401 waits a little longer than ten seconds for the answers that tell whether the token is revoked. */
const longestUndecidedMs = 11_000;
const lookAgainMs = 250;
/** With the time that its next token request takes, the second set has a token within ten seconds. */
const longFailingMs = 5_000;
/** Replicas see within a second or so that the shared store is back. With thousands of sets, not all ask it at once. */
const resyncSpreadMs = 400;
const allPublishedMs = 1_600;

type NewNeed = Omit<Need, "sinceMs">;

/**
 * One credential set's token: its state (token-state.ts decides), a single-flight refresh, and one timer. A refresh is never
 * cancelled: it continues for other requests when a request stops waiting.
 */
export class TokenCache {
  readonly #parts: RefreshParts;
  #state = initialState;
  #refreshing: Promise<RefreshResult> | undefined;
  /** Of the refresh that runs, or ran last. */
  #need: Need | undefined;
  #wakeAtMs: number | undefined;
  #cancelWake: Cancel = () => {};
  #cancelResync: Cancel = () => {};
  #isClosed = false;

  constructor(parts: RefreshParts) {
    this.#parts = parts;
  }

  get set(): CredentialSet {
    return this.#parts.set;
  }

  /** The present pause of token requests, if any. */
  get pause(): Pause | undefined {
    return this.#parts.backoff.pause() ?? this.#parts.address.pause();
  }

  /** When a token request may be made again, as `/status` says it: after the set's pause, and that of its address. */
  get nextTryMs(): number {
    const { backoffUntilMs = 0, addressPausedUntilMs = 0 } = this.snapshot();
    return Math.max(backoffUntilMs, addressPausedUntilMs);
  }

  /** Why a pause began; without one, that no token came in time. For callers. */
  explain(pause: Pause | undefined) {
    const failure = pause === undefined || pause.kind === "spacing" ? { cause: noAnswer } : pause;
    return explainNoToken(failure, this.#parts, "caller");
  }

  /** The authorization server refused this set and has not accepted it since. */
  get isRefused(): boolean {
    return this.#parts.backoff.isRefused();
  }

  /**
   * Another set goes first: the authorization server refuses this one, or has answered it with nothing but failures for a while, and it
   * has no token that the service takes. Some servers answer an unknown client with 500.
   */
  get isPassedOver(): boolean {
    if (this.isRefused) return true;
    const failingMs = this.#parts.backoff.failingForMs() ?? 0;
    return failingMs >= longFailingMs && (isRefusedByService(this.#state) || !("token" in this.#decide()));
  }

  /** The service has refused the token, and another set goes first. The token may still be good for other sites. */
  get isSuspect(): boolean {
    return this.isPassedOver && isRefusedByService(this.#state);
  }

  /** The last token request has failed, and there is no usable token. */
  get isInOutage(): boolean {
    return this.#parts.backoff.isFailing() && !("token" in this.#decide({ orFormer: true }));
  }

  /** There is a token of the present secret. */
  get hasToken(): boolean {
    return this.#state.token !== undefined;
  }

  /** There is a token of the present or the former secret. */
  get hasAnyToken(): boolean {
    return anyToken(this.#state) !== undefined;
  }

  /** The state at this moment. Which set a site uses is known to its CredentialFailover. */
  snapshot(): Omit<CredentialSnapshot, "isActive"> {
    const { environment, set, backoff, address } = this.#parts;
    const { origin, lastUsedMs } = this.#state;
    const token = anyToken(this.#state);
    return {
      environment,
      credential: set.label,
      token: token && {
        lifetimeMs: token.lifetimeMs,
        expiresAtMs: token.issuedAtMs + token.lifetimeMs,
        ...origin,
      },
      lastUsedMs: Number.isFinite(lastUsedMs) ? lastUsedMs : undefined,
      backoffUntilMs: backoff.openPause()?.untilMs,
      addressPausedUntilMs: address.pause()?.untilMs,
      isInOutage: this.isInOutage,
    };
  }

  /** The token to use now, without waiting. A due token starts a refresh in the background. */
  current(): Token | undefined {
    const decision = this.#decide();
    const token = "token" in decision ? decision.token : undefined;
    this.#parts.report({ kind: "token_cache_read", tier: "memory", result: token === undefined ? "miss" : "hit" });
    if (decision.kind === "use_and_refresh") void this.warm("due");
    return token && this.#use(token);
  }

  /** The former secret's token, if it is valid and the present secret has none. */
  currentFormer(): Token | undefined {
    return this.#useLive({ orFormer: true });
  }

  #useLive(situation?: { orFormer: true }): Token | undefined {
    const decision = this.#decide(situation);
    return "token" in decision ? this.#use(decision.token) : undefined;
  }

  /**
   * A token that may be used, after a refresh if there is none; or the pause that prevents the refresh.
   * @param untilMs the end of the wait (monotonic)
   * @returns undefined when no token came in time
   */
  async get(untilMs: number): Promise<Token | Pause | undefined> {
    const { clock } = this.#parts;
    for (;;) {
      // While a request waited for another set, this one may have got its token.
      const ready = this.#decide({ newerThan: this.isRefused ? this.#state.refusedToken : undefined });
      if ("token" in ready) return this.#use(ready.token);
      const { token } = this.#state;
      const reason = token === undefined ? "missing" : "expired";
      const refreshing = this.#refresh(this.#needNewer(reason, { isAwaited: true }));
      const result = await within(clock, refreshing, untilMs - clock.nowMs());
      if (result === undefined) return undefined;
      if (result.kind === "paused") return result.pause;
      // A token may have expired before it arrives. A repeated one has a successor soon.
      if (result.kind === "token" && !result.token.isRepeated) return this.#useLive();
      // That refresh had begun for a due token or for a 401: try again.
    }
  }

  /** Starts a refresh in the background unless one is running or a pause forbids it. Resolves when it has ended. */
  async warm(reason: "start" | "missing" | "due"): Promise<void> {
    await this.#refresh(this.#needNewer(reason, { isAwaited: false }));
  }

  #needNewer(reason: Need["reason"], { isAwaited }: Priority): NewNeed {
    return { reason, newerThan: this.#state.token ?? this.#state.endedToken, isAwaited };
  }

  /**
   * A token newer than the refused one, by one forced refresh if necessary. A late 401 for an old token gets the newer token
   * that is here, and forces nothing.
   */
  async replace(refused: Token, site: string, deadlineMs: number): Promise<Token | NoNewerToken> {
    const { clock, environment, set, forcedRefreshes, tokenTimeoutMs, report } = this.#parts;
    if (isNewer(refused, this.#state.refusedToken)) this.#transition({ ...this.#state, refusedToken: refused });
    forcedRefreshes.refused(site, refused);
    const undecidedUntilMs = clock.nowMs() + longestUndecidedMs;
    while (clock.nowMs() < deadlineMs) {
      const { token } = this.#state;
      if (token !== undefined && isNewer(token, refused) && forcedRefreshes.mayRetryWith(token, site, refused)) {
        return this.#use(token);
      }
      const isForcedHere = this.#refreshing === undefined;
      const refreshing = this.#refresh({ reason: "unauthorized", newerThan: refused, site, isAwaited: true });
      const result = await within(clock, refreshing, Math.min(tokenTimeoutMs, deadlineMs - clock.nowMs()));
      if (result === undefined) break;
      if (!isForcedHere) continue;
      const isAgain = result.kind === "token" && result.token.id === refused.id;
      const successor = await this.#awaitSuccessor(refused, isAgain, deadlineMs);
      if (successor !== undefined) return successor;
      if (result.kind === "token") return this.#use(this.#state.token ?? result.token);
      if (result.kind !== "suppressed") return "no_token";
      if (forcedRefreshes.isUndecided(site, refused) && clock.nowMs() <= undecidedUntilMs) {
        await sleep(clock, Math.min(lookAgainMs, deadlineMs - clock.nowMs()));
        continue;
      }
      // The site itself seems to be the cause: the token may be good for other sites.
      if (this.#state.refusedToken?.id === refused.id) this.#transition({ ...this.#state, refusedToken: undefined });
      report({ kind: "refresh_suppressed", environment, credential: set.label, site, reason: result.reason });
      return result.reason;
    }
    return "too_late";
  }

  /**
   * An authorization server that gives one token until it ends has no other one for a 401. If the end is near, the retry waits.
   * @param isAgain a forced refresh brought the refused token again
   * @returns undefined if the server gives other tokens, or if the end is not near
   */
  async #awaitSuccessor(
    refused: Token,
    isAgain: boolean,
    deadlineMs: number,
  ): Promise<Token | NoNewerToken | undefined> {
    const { clock, tokenTimeoutMs } = this.#parts;
    const { token } = this.#state;
    const endsMs = endsAtMs(token?.id === refused.id ? token : refused);
    if (!(isAgain || (token?.id === refused.id && token.isRepeated)) || endsMs >= deadlineMs) return undefined;
    await sleep(clock, endsMs - clock.nowMs());
    const found = await this.get(Math.min(deadlineMs, clock.nowMs() + tokenTimeoutMs));
    if (found === undefined) return "too_late";
    return "secret" in found ? found : "no_token";
  }

  /** The service accepted a first attempt with this token. */
  accepted(token: Token, site: string, sentAtMs: number): void {
    this.#parts.forcedRefreshes.accepted(site, token, sentAtMs);
  }

  /** The service accepted a retry with this token. Changed counts of forced refreshes are shared with the other replicas. */
  cured(token: Token, site: string, sentAtMs: number): void {
    const { forcedRefreshes, store, key } = this.#parts;
    const counts = forcedRefreshes.cured(site, token, sentAtMs);
    if (counts !== undefined) void store.countForced(key, counts);
  }

  /** The service answered 401 to a retry with this token. */
  refused(token: Token, site: string): void {
    this.#parts.forcedRefreshes.refused(site, token);
  }

  /** Takes over the token of a cache with the same secret, and publishes it: this cache may have another store. */
  adoptFrom(from: TokenCache): void {
    if (!from.hasToken) return;
    this.#transition(adoptFrom(this.#state, from.#state, this.#parts.set.label));
    this.resync();
  }

  /** Takes over from the cache of the set's former secret: its token is used until the present secret has one. */
  succeed(from: TokenCache): void {
    const { label } = this.#parts.set;
    const isKnownByLabel = anyToken(from.#state)?.credential === label;
    this.#transition(succeed(this.#state, from.#state, label), { isKnownByLabel });
  }

  /**
   * The shared store works again: each replica publishes its token, or adopts a newer one, and reads once more when all have
   * published. So all have the same token soon. A token that the service refused is not published.
   */
  resync(): void {
    const { clock, random } = this.#parts;
    this.#cancelResync();
    const cancels = [0, allPublishedMs].map((delayMs) =>
      clock.after(delayMs + resyncSpreadMs * random(), () => void this.#republish()),
    );
    this.#cancelResync = () => {
      for (const cancel of cancels) cancel();
    };
  }

  async #republish(): Promise<void> {
    const own = this.#state.token;
    if (own === undefined || !isNewer(own, this.#state.refusedToken)) return;
    const token = await republish(this.#parts, own);
    if (token === undefined) return;
    this.#transition(adopt(this.#state, token, { issuedHere: false, reason: "redis_recovered" }));
  }

  /** Stops the timers, and a refresh that waits for its turn in the background. Resolves when a running refresh has ended by itself. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelWake();
    this.#cancelResync();
    if (this.#need !== undefined) this.#parts.address.abandon(this.#need);
    await this.#refreshing;
  }

  /** Joins the refresh that is running, or starts one unless a known obstacle prevents it. */
  #refresh(arisen: NewNeed): Promise<RefreshResult> {
    const { address, clock } = this.#parts;
    if (this.#refreshing !== undefined) {
      if (arisen.isAwaited && this.#need !== undefined) address.hurry(this.#need);
      return this.#refreshing;
    }
    const need = { ...arisen, sinceMs: clock.nowMs() };
    const { newerThan } = need;
    const decision = this.#decide({ newerThan, obstacle: obstacleTo(this.#parts, need) });
    if (decision.kind === "unavailable") return Promise.resolve(decision.obstacle);
    this.#need = need;
    this.#refreshing = this.#runRefresh(need);
    return this.#refreshing;
  }

  async #runRefresh(need: Need): Promise<RefreshResult> {
    const { clock, random } = this.#parts;
    const result = await refresh(this.#parts, need).catch((error) => this.#fail(error));
    this.#refreshing = undefined;
    this.#transition(afterRefresh(this.#state, result, need.reason, clock.nowMs(), random));
    return result;
  }

  /** Stores and endpoints never throw; a defect in one of them counts as a failed refresh. */
  #fail(error: unknown): RefreshResult {
    this.#parts.report({ kind: "defect", where: "refresh", error: describeDefect(error) });
    return { kind: "paused", pause: this.#parts.backoff.onAnswer({ kind: "failed" }) };
  }

  #decide(situation: Omit<Situation, "nowMs" | "thresholds"> = {}): Decision {
    const { clock, thresholds } = this.#parts;
    return decide(this.#state, { nowMs: clock.nowMs(), thresholds, ...situation });
  }

  /** Records the use: only tokens in use are refreshed. Changes neither the token nor the timer. */
  #use(token: Token): Token {
    this.#state = { ...this.#state, lastUsedMs: this.#parts.clock.nowMs() };
    return token;
  }

  #onWake(): void {
    const { clock, thresholds } = this.#parts;
    this.#wakeAtMs = undefined;
    const action = decideOnWake(this.#state, thresholds, clock.nowMs());
    // Read before the refresh: if the pause is over here, no pause forbids the refresh.
    const pausedUntilMs = this.pause?.untilMs;
    if (action === "refresh") void this.warm(this.hasAnyToken ? "due" : "missing");
    this.#transition(afterWake(this.#state, action, this.#refreshing !== undefined, pausedUntilMs));
  }

  /**
   * The only place that changes the state (except the last use), reports the change and sets the timer. A closed cache
   * reports nothing, since its set's label is another cache's.
   * @param isKnownByLabel the new token's adoption was reported before, under the same label
   */
  #transition(next: TokenState, { isKnownByLabel = false } = {}): void {
    const { clock, environment, set, thresholds, forcedRefreshes, report } = this.#parts;
    const before = anyToken(this.#state);
    const token = anyToken(next);
    this.#state = next;
    if (token !== undefined && token !== before) forcedRefreshes.answers.adopted(token);
    const about = { environment, credential: set.label };
    if (this.#isClosed) return;
    if (token === undefined) {
      if (before !== undefined) report({ kind: "token_lapsed", ...about, reason: "expired" });
    } else if (token !== before && !isKnownByLabel) {
      const { lifetimeMs } = token;
      const remainingMs = token.issuedAtMs + lifetimeMs - clock.nowMs();
      report({ kind: "token_adopted", ...about, ...next.origin, lifetimeMs, remainingMs });
    }
    const wakeAtMs = nextWakeAt(next, thresholds);
    if (wakeAtMs === this.#wakeAtMs) return;
    this.#cancelWake();
    this.#wakeAtMs = wakeAtMs;
    if (wakeAtMs !== undefined) this.#cancelWake = clock.after(wakeAtMs - clock.nowMs(), () => this.#onWake());
  }
}
