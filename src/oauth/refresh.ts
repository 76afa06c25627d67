import { type Clock, sleep } from "../model/clock.ts";
import type { CredentialSet } from "../model/environment.ts";
import type { RefreshReason, Report, SuppressionReason } from "../model/events.ts";
import type { EndpointBackoff, Pause } from "./endpoint-backoff.ts";
import type { ForcedRefreshLimiter } from "./forced-refresh-limiter.ts";
import type { Lease, RefreshLock } from "./refresh-lock.ts";
import { freshness, isNewer, type Thresholds, type Token, tokenId } from "./token.ts";
import { type PostForm, requestToken, type TokenAnswer } from "./token-endpoint.ts";
import type { IssuedToken, StoredToken, TokenStore } from "./token-store.ts";

/** Everything one credential set's refresh needs. */
export interface RefreshParts {
  readonly environment: string;
  readonly set: CredentialSet;
  /** From `cacheKey`. */
  readonly key: string;
  readonly store: TokenStore;
  readonly lock: RefreshLock;
  readonly post: PostForm;
  readonly conduct: EndpointBackoff;
  readonly forcedRefreshes: ForcedRefreshLimiter;
  readonly thresholds: Thresholds;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly report: Report;
}

/** What a refresh is wanted for. */
export interface Need {
  readonly reason: RefreshReason;
  /** Only a newer token will do. */
  readonly atHand: Token | undefined;
  /** Whose 401 forces it. */
  readonly site?: string;
}

/** A newer token, or what stands in the way of one. */
export type Refreshed =
  | { readonly kind: "token"; readonly token: Token; readonly issuedHere: boolean }
  | Obstacle
  /** Another process is refreshing, and the token at hand serves until it has. */
  | { readonly kind: "left_to_another" };

export type Obstacle =
  | { readonly kind: "paused"; readonly pause: Pause }
  | { readonly kind: "suppressed"; readonly reason: SuppressionReason };

/** While another process holds the lock, it is tried again so often: the holder may have died. */
const tryLockEveryMs = 400;
const longestPollMs = 300;
/** Longer than a fetch with all its retries takes: a lock that is still held is nobody's. */
const patienceMs = 90_000;

/** The single-refresh dance: look, lock, look again, fetch, save, unlock. */
export async function refresh(parts: RefreshParts, need: Need): Promise<Refreshed> {
  const found = await look(parts, need);
  if (found !== undefined) return found;
  const turn = await awaitTurn(parts, need);
  if ("kind" in turn) return turn;
  try {
    return (await look(parts, need)) ?? (await fetch(parts, need));
  } finally {
    // Nobody waits for that: it never fails, and the token is there.
    void turn.lease?.release();
  }
}

/** Why the authorization server may not be asked now, as far as this process knows. */
export function obstacleTo({ conduct, forcedRefreshes }: RefreshParts, { site, atHand }: Need): Obstacle | undefined {
  const pause = conduct.openPause();
  if (pause !== undefined) return { kind: "paused", pause };
  const isForced = site !== undefined && atHand !== undefined;
  const reason = isForced ? forcedRefreshes.suppression(site, atHand) : undefined;
  return reason === undefined ? undefined : { kind: "suppressed", reason };
}

/** What the replicas share: a newer token, or a reason not to ask for one. */
async function look(
  parts: RefreshParts,
  need: Need,
): Promise<Exclude<Refreshed, { kind: "left_to_another" }> | undefined> {
  const { clock, conduct, forcedRefreshes } = parts;
  const askedAtMs = clock.nowMs();
  const shared = await parts.store.read(parts.key);
  const token = shared.token && toToken(parts, shared.token, askedAtMs);
  const isWanted = token !== undefined && isNewer(token, need.atHand) && isUseful(token, parts, need);
  if (isWanted) conduct.onTokenSeen(token.issuedAtMs);
  if (shared.limits !== undefined) {
    conduct.mergeShared(shared.limits.endpoint);
    forcedRefreshes.mergeShared(shared.limits);
  }
  return isWanted ? { kind: "token", token, issuedHere: false } : obstacleTo(parts, need);
}

/** The moment of asking stands for the moment of the store's answer: a token may seem older, never younger. */
export function toToken(
  { set }: RefreshParts,
  { secret, lifetimeMs, remainingMs }: StoredToken,
  askedAtMs: number,
): Token {
  const issuedAtMs = askedAtMs - (lifetimeMs - remainingMs);
  return { secret, id: tokenId(secret), credential: set.label, issuedAtMs, lifetimeMs };
}

/**
 * Whether a shared token serves the need. Without a usable token at hand any token does up to its leeway. A token that is
 * merely due is replaced only by one outside its last tenth, which would be due too.
 */
function isUseful(token: Token, { thresholds, clock }: RefreshParts, { reason }: Need): boolean {
  const nowMs = clock.nowMs();
  if (reason === "due") return nowMs - token.issuedAtMs < token.lifetimeMs * 0.9;
  return freshness(token, thresholds, nowMs) !== "expired";
}

/** Waits until it holds the lock or sees what the holder did. Without a working lock everyone goes ahead. */
async function awaitTurn(parts: RefreshParts, need: Need): Promise<{ lease?: Lease } | Refreshed> {
  const { clock, lock, report } = parts;
  const sinceMs = clock.nowMs();
  for (;;) {
    const lease = await lock.tryAcquire(parts.key);
    report({ kind: "refresh_lock_tried", result: typeof lease === "string" ? lease : "acquired" });
    if (lease === "unavailable") return {};
    if (lease !== "held") return { lease };
    if (need.reason === "due") return { kind: "left_to_another" };
    const triedAtMs = clock.nowMs();
    if (triedAtMs - sinceMs >= patienceMs) return {};
    while (clock.nowMs() < triedAtMs + tryLockEveryMs) {
      await sleep(clock, pollDelayMs(clock.nowMs() - sinceMs, parts.random));
      const found = await look(parts, need);
      if (found !== undefined) return found;
    }
  }
}

/** 30 to 70 ms at first; with time a tenth of what has been waited, so that a slow authorization server costs Redis little. */
function pollDelayMs(waitedMs: number, random: () => number): number {
  return Math.min(Math.max(50, waitedMs / 10), longestPollMs) * (0.6 + 0.8 * random());
}

async function fetch(parts: RefreshParts, need: Need): Promise<Refreshed> {
  for (let retriesMade = 0; ; retriesMade++) {
    const found = await sitOut(parts, need);
    if (found !== undefined) return found;
    const { answer, pause, startedMs } = await requestAndReport(parts, need.reason);
    if (answer.kind === "issued") return await keep(parts, need, answer.grant, startedMs);
    if (parts.conduct.mayRetry(answer, retriesMade)) continue;
    const event = parts.conduct.toShared();
    if (event !== undefined) await parts.store.record(parts.key, event);
    return { kind: "paused", pause };
  }
}

/** Only short pauses are ever sat out: the spacing between refreshes and the back-off within one. */
async function sitOut(parts: RefreshParts, need: Need): Promise<Refreshed | undefined> {
  const { conduct, clock } = parts;
  if (conduct.pause() === undefined) return undefined;
  // Again and again, because a timer may fire a fraction of a millisecond early.
  for (let pause = conduct.pause(); pause !== undefined; pause = conduct.pause()) {
    await sleep(clock, pause.untilMs - clock.nowMs());
  }
  return look(parts, need);
}

async function requestAndReport(
  parts: RefreshParts,
  reason: RefreshReason,
): Promise<{ answer: TokenAnswer; pause: Pause; startedMs: number }> {
  const { clock, conduct, environment, set, report } = parts;
  const startedMs = clock.nowMs();
  const answer = await requestToken(parts.post, set, () => clock.wallMs());
  const endedMs = clock.nowMs();
  const pause = conduct.onAnswer(answer);
  report({
    kind: "token_requested",
    environment,
    credential: set.label,
    result: answer.kind,
    reason,
    durationMs: endedMs - startedMs,
    status: "status" in answer ? answer.status : undefined,
    cause: "cause" in answer ? answer.cause : undefined,
    pauseMs: answer.kind === "issued" ? undefined : pause.untilMs - endedMs,
  });
  return { answer, pause, startedMs };
}

/** Shares a new token. Another process's may be newer still, after a pause of ours: then that one counts. */
async function keep(parts: RefreshParts, need: Need, grant: IssuedToken, startedMs: number): Promise<Refreshed> {
  const { clock, store, key, set, forcedRefreshes } = parts;
  const savedAtMs = clock.nowMs();
  const stored = await store.save(key, grant, savedAtMs - startedMs);
  const own = { ...grant, id: tokenId(grant.secret), credential: set.label, issuedAtMs: startedMs };
  const theirs = toToken(parts, stored, savedAtMs);
  const issuedHere = theirs.id === own.id || !isNewer(theirs, need.atHand);
  const token = issuedHere ? own : theirs;
  if (need.site === undefined) return { kind: "token", token, issuedHere };
  const isNew = token.id !== need.atHand?.id;
  const event = isNew
    ? forcedRefreshes.forced(need.site, token, need.atHand)
    : forcedRefreshes.repeatedToken(need.site, token);
  await store.record(key, event);
  return isNew ? { kind: "token", token, issuedHere } : { kind: "suppressed", reason: "paused" };
}
