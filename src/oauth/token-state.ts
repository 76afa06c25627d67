import type { RefreshReason, TokenSnapshot } from "../model/events.ts";
import type { RefreshResult } from "./refresh.ts";
import {
  dueAtMs,
  endsAtMs,
  expiredAtMs,
  freshness,
  isFoundRepeated,
  isNewer,
  type Thresholds,
  type Token,
} from "./token.ts";

/** Everything that one credential set's token depends on in this process. Times are on the monotonic clock. */
export interface TokenState {
  /** Issued for the present secret. */
  readonly token: Token | undefined;
  /** Issued for the former secret. It is used until it expires, while the present secret has no token. */
  readonly formerToken: Token | undefined;
  /** The origin of `token`, or without it, of `formerToken`. */
  readonly origin: TokenOrigin;
  /** A repeated token that has ended. For a moment the authorization server may still give it, instead of a new one. */
  readonly endedToken: Token | undefined;
  /** The newest token that the service has answered with 401. */
  readonly refusedToken: Token | undefined;
  /** When a token was last attached to a request. */
  readonly lastUsedMs: number;
  /** When a refresh last ended. A refresh reads the shared state. */
  readonly lastRefreshMs: number;
  /** Another process refreshes the due token until then. */
  readonly leftToAnotherUntilMs: number;
  /**
   * The timer starts no refresh before this time. Undefined while the refresh that the timer started runs: its end sets
   * it.
   */
  readonly wakeNotBeforeMs: number | undefined;
}

type TokenOrigin = Pick<TokenSnapshot, "issuedHere" | "reason">;

export const initialState: TokenState = {
  token: undefined,
  formerToken: undefined,
  origin: { issuedHere: false, reason: "start" },
  endedToken: undefined,
  refusedToken: undefined,
  lastUsedMs: Number.NEGATIVE_INFINITY,
  lastRefreshMs: Number.NEGATIVE_INFINITY,
  leftToAnotherUntilMs: 0,
  wakeNotBeforeMs: Number.POSITIVE_INFINITY,
};

/** The circumstances in which `decide` judges a state. */
export interface Situation {
  readonly nowMs: number;
  readonly thresholds: Thresholds;
  /** Only a token newer than this one will do. */
  readonly newerThan?: Token | undefined;
  /** The former secret's token will do if the present secret has none. */
  readonly orFormer?: boolean;
  /** Why no token may be requested, as far as this process knows. */
  readonly obstacle?: RefreshResult | undefined;
}

export type Decision =
  /** Attach the token now. A due token is refreshed in the background. */
  | { readonly kind: "use" | "use_and_refresh"; readonly token: Token }
  /** A refresh must bring a token first. */
  | { readonly kind: "wait" }
  /** No token may be requested, and the shared state was read a moment ago. */
  | { readonly kind: "unavailable"; readonly obstacle: RefreshResult };

/**
 * While an obstacle is known, the shared state is read this often, since the obstacle may be gone. Another replica's
 * forced refresh counts as useless until its result is known, which is soon.
 */
const readAgainMs = { paused: 1_000, suppressed: 100 };
/** A process that finds the lock held leaves a due token to the holder for 1 to 3 s. */
const shortestLeaveMs = 1_000;
const leaveSpreadMs = 2_000;

/** Whether a token can be used now, and whether a refresh is needed. */
export function decide(state: TokenState, situation: Situation): Decision {
  const { nowMs, thresholds, newerThan, orFormer = false, obstacle } = situation;
  const token = orFormer ? anyToken(state) : state.token;
  const isWanted = token !== undefined && isNewer(token, newerThan);
  const zone = isWanted ? freshness(token, thresholds, nowMs) : "expired";
  if (isWanted && zone !== "expired") {
    const isToRefresh = zone === "due" && nowMs >= state.leftToAnotherUntilMs;
    return { kind: isToRefresh ? "use_and_refresh" : "use", token };
  }
  if (obstacle !== undefined) {
    const untilMs = state.lastRefreshMs + readAgainMs[obstacle.kind === "suppressed" ? "suppressed" : "paused"];
    if (nowMs < untilMs) return { kind: "unavailable", obstacle };
  }
  return { kind: "wait" };
}

/** What the timer does when it fires. `expire`: the token is dropped. `sleep`: an idle token is not refreshed. */
export type WakeAction = "expire" | "refresh" | "sleep";

/** A token that was used within the last `lifetimeMs` is refreshed; an idle one is not. A missing token is requested again. */
export function decideOnWake(state: TokenState, thresholds: Thresholds, nowMs: number): WakeAction {
  const token = anyToken(state);
  if (token === undefined) return "refresh";
  if (nowMs >= droppedAtMs(token, thresholds)) return "expire";
  return state.lastUsedMs >= nowMs - token.lifetimeMs ? "refresh" : "sleep";
}

/**
 * When the timer fires next: while the token is due, and at its end. Without a token: at the end of the pause that
 * stopped the last refresh. Undefined: there is no timer.
 */
export function nextWakeAt(state: TokenState, thresholds: Thresholds): number | undefined {
  const { wakeNotBeforeMs } = state;
  const token = anyToken(state);
  if (wakeNotBeforeMs === undefined) return undefined;
  if (token === undefined) return Number.isFinite(wakeNotBeforeMs) ? wakeNotBeforeMs : undefined;
  return Math.min(Math.max(wakeNotBeforeMs, dueAtMs(token, thresholds)), droppedAtMs(token, thresholds));
}

/** A repeated token is kept to its end, although it is attached no more: only then is there another one to ask for. */
function droppedAtMs(token: Token, thresholds: Thresholds): number {
  return token.isRepeated ? endsAtMs(token) : expiredAtMs(token, thresholds);
}

/** The token of the present secret, else that of the former secret. */
export function anyToken({ token, formerToken }: TokenState): Token | undefined {
  return token ?? formerToken;
}

/** The service has answered the newest token with 401. */
export function isRefusedByService(state: TokenState): boolean {
  const token = anyToken(state);
  return token !== undefined && !isNewer(token, state.refusedToken);
}

/**
 * The newest token wins: a refresh that ends late never puts an older token back. If a refresh brought the present token again,
 * here or in another replica, its last answer decides when it ends.
 * @returns the same state if nothing changes
 */
export function adopt(state: TokenState, token: Token, origin: TokenOrigin): TokenState {
  const present = state.token;
  const isAgain = origin.issuedHere ? token.issuedAtMs > (present?.issuedAtMs ?? 0) : isFoundRepeated(token, present);
  if (!(token.id === present?.id && isAgain) && !isNewer(token, present)) return state;
  return { ...state, token, formerToken: undefined, endedToken: undefined, origin, wakeNotBeforeMs: 0 };
}

/** @param random uniform in [0, 1) */
export function afterRefresh(
  before: TokenState,
  result: RefreshResult,
  reason: RefreshReason,
  nowMs: number,
  random: () => number,
): TokenState {
  const state = { ...before, lastRefreshMs: nowMs };
  const readAgainAtMs = nowMs + readAgainMs.paused;
  switch (result.kind) {
    case "token": {
      const adopted = adopt(state, result.token, { issuedHere: result.issuedHere, reason });
      return adopted === state ? { ...state, wakeNotBeforeMs: readAgainAtMs } : adopted;
    }
    case "paused":
      return { ...state, wakeNotBeforeMs: result.pause.untilMs };
    case "suppressed":
      return { ...state, wakeNotBeforeMs: readAgainAtMs };
    case "left_to_another": {
      const untilMs = nowMs + shortestLeaveMs + leaveSpreadMs * random();
      return { ...state, leftToAnotherUntilMs: untilMs, wakeNotBeforeMs: untilMs };
    }
  }
}

/** @param isRefreshing the refresh of the action `refresh` has begun; otherwise a pause forbids it until its end */
export function afterWake(
  state: TokenState,
  action: WakeAction,
  isRefreshing: boolean,
  pausedUntilMs = Number.POSITIVE_INFINITY,
): TokenState {
  switch (action) {
    case "expire": {
      const endedToken = state.token?.isRepeated ? state.token : undefined;
      const isToSucceed = endedToken !== undefined && state.lastUsedMs >= endedToken.issuedAtMs;
      // A refresh that is due or failed keeps its time; a token that expires unused gets no refresh.
      const wakeNotBeforeMs = state.wakeNotBeforeMs || (isToSucceed ? endsAtMs(endedToken) : Number.POSITIVE_INFINITY);
      return { ...state, token: undefined, formerToken: undefined, endedToken, wakeNotBeforeMs };
    }
    case "sleep":
      return { ...state, wakeNotBeforeMs: Number.POSITIVE_INFINITY };
    case "refresh":
      return { ...state, wakeNotBeforeMs: isRefreshing ? undefined : pausedUntilMs };
  }
}

/** A new cache has the same secret: the token stays, under the new label. */
export function adoptFrom(
  state: TokenState,
  { token, refusedToken, lastUsedMs }: TokenState,
  label: string,
): TokenState {
  if (token === undefined) return state;
  const origin = { issuedHere: false, reason: "reload" } as const;
  return adopt({ ...state, refusedToken, lastUsedMs }, { ...token, credential: label }, origin);
}

/** The secret has changed: the former secret's token is used until the present secret has one. */
export function succeed(before: TokenState, former: TokenState, label: string): TokenState {
  const state = { ...before, lastUsedMs: Math.max(before.lastUsedMs, former.lastUsedMs) };
  const token = anyToken(former);
  if (token === undefined || state.token !== undefined || !isNewer(token, state.formerToken)) return state;
  return {
    ...state,
    formerToken: { ...token, credential: label },
    origin: token.credential === label ? former.origin : { issuedHere: false, reason: "reload" },
    refusedToken: former.refusedToken,
    wakeNotBeforeMs: 0,
  };
}
