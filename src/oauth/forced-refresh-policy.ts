import type { SuppressionReason } from "../model/events.ts";

/** Useless tokens a minute for a site that has given no reason to be held back. */
const limitForTrusted = 6;
/** The same for a 401 that may mean the token's end. */
const limitForSuspect = 3;
/** The same for a 401 that is more likely the request's own trouble. The difference is kept for the token's end. */
const limitForProven = 2;
/**
 * Refreshes a minute that healed a request whose 401 may have been chance: a service that answers 401 now and then accepts
 * every retry, so each of its 401s would buy a token. After these a token is replaced once a run shows that it is dead.
 */
export const limitForDoubtful = 3;
/** With few answers only a long run would show that: until then more is let through. */
const limitForDoubtfulOfQuiet = 6;
const fewAnswers = 50;
/** A run of 401s that is less likely than this to be chance is the end of the token. */
const unlikely = 1e-5;
/** Older answers count for less and less, so that the share follows the service. */
const mostAnswers = 1_000;

/** How one site's first attempts were answered: what distinguishes a request's own trouble from a dead token. */
export interface AnswerHistory {
  /** Answers that took the token. */
  readonly accepted: number;
  /** 401s for a token that was accepted again afterwards: the trouble was the requests' own. */
  readonly refused: number;
  /** 401s since the token was last accepted. */
  readonly run: number;
}

export const noAnswers: AnswerHistory = { accepted: 0, refused: 0, run: 0 };

/** The token was accepted: the 401s before it had other reasons. */
export function afterAcceptance({ accepted, refused, run }: AnswerHistory): AnswerHistory {
  const share = accepted + refused + run < mostAnswers ? 1 : 0.5;
  return { accepted: accepted * share + 1, refused: (refused + run) * share, run: 0 };
}

/** What is known when a 401 asks for a new token. */
export interface Evidence {
  /** The site's refreshes pause, since a new token did not help. */
  readonly isPaused: boolean;
  /** The site has accepted this very token. */
  readonly isProven: boolean;
  /** The site's requests were accepted so far, and it caused no useless token. */
  readonly isTrusted: boolean;
  readonly history: AnswerHistory;
  /** Forced refreshes of the last minute, over all replicas, that cured nothing so far. */
  readonly uselessTokens: number;
  /** Those that healed a request, though the token before was accepted by others: not shown to be dead (looksDead). */
  readonly doubtfulTokens: number;
  /** Those of them that this site wanted. */
  readonly doubtfulOfSite: number;
}

/** Requests were accepted with this token and now none is: the run of 401s is too long to be chance. */
export function looksDead({
  isProven,
  history: { accepted, refused, run },
}: Pick<Evidence, "isProven" | "history">): boolean {
  const share = (refused + 1) / (accepted + refused + 2);
  return isProven && share ** run < unlikely;
}

function isDoubtful({ history: { accepted, refused }, doubtfulOfSite }: Evidence): boolean {
  return doubtfulOfSite >= (accepted + refused < fewAnswers ? limitForDoubtfulOfQuiet : limitForDoubtful);
}

/** Why a 401 must not cost a token now; undefined when it may. A dead token ends a pause, never the limit. */
export function suppressionOf(evidence: Evidence): SuppressionReason | undefined {
  const { isPaused, isProven, isTrusted, uselessTokens, doubtfulTokens } = evidence;
  if (looksDead(evidence))
    return uselessTokens >= (isTrusted ? limitForTrusted : limitForSuspect) ? "limited" : undefined;
  if (isPaused) return "paused";
  if (isDoubtful(evidence)) return "limited";
  const limit = isTrusted ? limitForTrusted : isProven ? limitForProven : limitForSuspect;
  return uselessTokens + doubtfulTokens >= limit ? "limited" : undefined;
}
