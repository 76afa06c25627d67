import { type Clock, sleep } from "../model/clock.ts";
import type { Address, CredentialSet } from "../model/environment.ts";
import type { RefreshReason, Report, SuppressionReason } from "../model/events.ts";
import type { AddressLimiter, Priority, Turn } from "./address-limiter.ts";
import type { EndpointBackoff, Pause } from "./endpoint-backoff.ts";
import type { ForcedRefreshLimiter } from "./forced-refresh-limiter.ts";
import { explainNoToken } from "./no-token.ts";
import {
  dueAtMs,
  endsAtMs,
  expiredAtMs,
  freshness,
  isFoundRepeated,
  isNewer,
  type Thresholds,
  type Token,
  tokenId,
} from "./token.ts";
import { requestToken, type TokenAnswer, type TokenEndpoint } from "./token-endpoint.ts";
import {
  everySite,
  type Grant,
  type Lease,
  type RefreshLock,
  type StoredToken,
  type TokenStore,
} from "./token-store.ts";

/** Everything that the refreshes of one credential set need. */
export interface RefreshParts {
  readonly environment: string;
  readonly set: CredentialSet;
  /** The token endpoint. */
  readonly tokenUrl: Address;
  /** From `cacheKey`. */
  readonly key: string;
  readonly store: TokenStore;
  readonly lock: RefreshLock;
  readonly endpoint: TokenEndpoint;
  readonly backoff: EndpointBackoff;
  /** Of the origin of the token endpoint. */
  readonly address: AddressLimiter;
  readonly forcedRefreshes: ForcedRefreshLimiter;
  readonly thresholds: Thresholds;
  /** `timeouts.token`: the longest that one token request takes. */
  readonly tokenTimeoutMs: number;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly report: Report;
}

export interface Need extends Priority {
  readonly reason: RefreshReason;
  /** When it arose (monotonic). */
  readonly sinceMs: number;
  /** Only a token newer than this one will do. */
  readonly newerThan: Token | undefined;
  /** The site whose 401 forces the refresh. */
  readonly site?: string;
}

/** A newer token, or why there is none. */
export type RefreshResult =
  | { readonly kind: "token"; readonly token: Token; readonly issuedHere: boolean }
  /** No token may be requested now: a pause. */
  | { readonly kind: "paused"; readonly pause: Pause }
  /** A 401 must force no token request now. */
  | { readonly kind: "suppressed"; readonly reason: SuppressionReason }
  /** Another process is refreshing; until it has done so, the due token is used. */
  | { readonly kind: "left_to_another" };

/** How often the lock is tried again while another process holds it: the holder may have died. */
const tryLockEveryMs = 250;
const longestPollMs = 150;
/** Longer than any token request takes: the holder of a lock that is still held has died. */
const longestLockWaitMs = 90_000;
/** So long after the start, the authorization server may be starting too. */
const earlyMs = 1_000;

/** One refresh for all replicas, with a few retries. Between them the lock is free. */
export async function refresh(parts: RefreshParts, need: Need): Promise<RefreshResult> {
  for (;;) {
    const result = await attempt(parts, need);
    if (result === undefined) continue;
    if (result.kind !== "paused" || !parts.backoff.isBrief(result.pause)) return result;
    await waitUntil(result.pause.untilMs, parts.clock);
  }
}

/**
 * Reads the shared state, waits for its turn, connects, locks, reads again, fetches, publishes, unlocks.
 * @returns undefined if the address paused meanwhile
 */
async function attempt(parts: RefreshParts, need: Need): Promise<RefreshResult | undefined> {
  const found = await readShared(parts, need);
  if (found !== undefined) return found;
  const turn = await parts.address.turn(need, latestMs(parts, need));
  // Nobody needs the token any more.
  if (turn === undefined) return { kind: "left_to_another" };
  if (typeof turn !== "function") return { kind: "paused", pause: turn };
  try {
    return await takeTurn(parts, need, turn);
  } finally {
    turn();
  }
}

/** Halfway between the time when the token is due and its leeway, so that requests never wait for a refresh that waits for its turn. */
function latestMs({ thresholds }: RefreshParts, { newerThan: token }: Need): number {
  if (token === undefined) return Number.POSITIVE_INFINITY;
  return (dueAtMs(token, thresholds) + expiredAtMs(token, thresholds)) / 2;
}

/** Who has no connection never keeps other replicas waiting, however long connecting takes: the lock is taken afterwards. */
async function takeTurn(parts: RefreshParts, need: Need, turn: Turn): Promise<RefreshResult | undefined> {
  const startedMs = parts.clock.nowMs();
  const failed = await parts.endpoint.connect(parts.tokenTimeoutMs);
  const connectedMs = parts.clock.nowMs() - startedMs;
  const acquired = await acquireLock(parts, need, turn);
  if ("kind" in acquired) return acquired;
  const { lease } = acquired;
  try {
    const newer = await readShared(parts, need);
    if (newer !== undefined) return newer;
    return failed === undefined
      ? await fetch(parts, need, connectedMs)
      : await pauseAfter(parts, need, failed, startedMs);
  } finally {
    // The release never fails, and no request waits for it: the result is known.
    void lease?.release();
  }
}

/** Why no token may be requested now, as far as this process knows. */
export function obstacleTo(
  { backoff, address, forcedRefreshes }: RefreshParts,
  { site, newerThan, isAwaited }: Need,
): RefreshResult | undefined {
  const pause = backoff.openPause() ?? (isAwaited ? address.longPause() : undefined);
  if (pause !== undefined) return { kind: "paused", pause };
  const isForced = site !== undefined && newerThan !== undefined;
  const reason = isForced ? forcedRefreshes.suppression(site, newerThan) : undefined;
  return reason === undefined ? undefined : { kind: "suppressed", reason };
}

/**
 * Shares a token that the store may have lost, unless the store has a newer one.
 * @returns the newest token, which the store then has too; undefined if ours has expired
 */
export async function republish(parts: RefreshParts, token: Token): Promise<Token | undefined> {
  const { clock, store, key, thresholds } = parts;
  const askedAtMs = clock.nowMs();
  const { token: stored } = await store.read(key);
  const theirs = stored && toToken(parts, stored, askedAtMs);
  if (theirs !== undefined && (theirs.id === token.id || isNewer(theirs, token))) return theirs;
  const nowMs = clock.nowMs();
  if (freshness(token, thresholds, nowMs) === "expired") return undefined;
  return toToken(parts, await store.save(key, token, nowMs - token.issuedAtMs), nowMs);
}

/** Reads the shared state: a newer token, or a reason not to request one. */
async function readShared(parts: RefreshParts, need: Need): Promise<RefreshResult | undefined> {
  const { clock, backoff, forcedRefreshes } = parts;
  const askedAtMs = clock.nowMs();
  const shared = await parts.store.read(parts.key, need.site === undefined ? [] : [need.site, everySite]);
  const token = shared.token && toToken(parts, shared.token, askedAtMs);
  if (shared.limits !== undefined) forcedRefreshes.counts.mergeShared(shared.limits.forced);
  const isWanted = token !== undefined && isUseful(token, parts, need);
  if (isWanted) backoff.onTokenSeen(token.issuedAtMs);
  if (shared.limits !== undefined) backoff.mergeShared(shared.limits.endpoint);
  return isWanted ? { kind: "token", token, issuedHere: false } : obstacleTo(parts, need);
}

/** Ages count from the start of the read: so a token may seem older than it is, by the time of the read, but never younger. */
function toToken({ set, clock }: RefreshParts, stored: StoredToken, askedAtMs: number): Token {
  const { secret, lifetimeMs, remainingMs, isRepeated } = stored;
  const issuedWithinMs = stored.issuedWithinMs + clock.nowMs() - askedAtMs;
  const issuedAtMs = askedAtMs - (lifetimeMs - remainingMs);
  return { secret, id: tokenId(secret), credential: set.label, issuedAtMs, issuedWithinMs, lifetimeMs, isRepeated };
}

/**
 * Whether a shared token is good enough. If our own token is only due, a shared one in the last tenth of its life is not:
 * it would be due too. Otherwise any newer token is good enough that has not expired.
 */
function isUseful(token: Token, { thresholds, clock, forcedRefreshes }: RefreshParts, need: Need): boolean {
  const { reason, newerThan, site } = need;
  const nowMs = clock.nowMs();
  if (site === undefined && isFoundRepeated(token, newerThan)) return true;
  if (!isNewer(token, newerThan)) return false;
  if (reason === "due" && !token.isRepeated) return nowMs - token.issuedAtMs < token.lifetimeMs * 0.9;
  if (site !== undefined && newerThan !== undefined && !forcedRefreshes.mayRetryWith(token, site, newerThan))
    return false;
  return freshness(token, thresholds, nowMs) !== "expired";
}

/** Waits until it holds the lock or sees the holder's result. Without a working lock every process refreshes. */
async function acquireLock(parts: RefreshParts, need: Need, turn: Turn): Promise<{ lease?: Lease } | RefreshResult> {
  const { clock, lock, report } = parts;
  const sinceMs = clock.nowMs();
  for (;;) {
    const lease = await lock.tryAcquire(parts.key);
    report({ kind: "refresh_lock_tried", result: typeof lease === "string" ? lease : "acquired" });
    if (lease === "unavailable") return {};
    if (lease !== "held") return { lease };
    if (need.reason === "due") return { kind: "left_to_another" };
    turn();
    const triedAtMs = clock.nowMs();
    if (triedAtMs - sinceMs >= longestLockWaitMs) return {};
    while (clock.nowMs() < triedAtMs + tryLockEveryMs) {
      await sleep(clock, pollDelayMs(clock.nowMs() - sinceMs, parts.random));
      const found = await readShared(parts, need);
      if (found !== undefined) return found;
    }
  }
}

/** 30 to 70 ms at first; later a tenth of the time waited, so that a slow authorization server causes few reads of Redis. */
function pollDelayMs(waitedMs: number, random: () => number): number {
  return Math.min(Math.max(50, waitedMs / 10), longestPollMs) * (0.6 + 0.8 * random());
}

/**
 * @param connectedMs how much of `timeouts.token` connecting has taken
 * @returns undefined if the address pauses
 */
async function fetch(parts: RefreshParts, need: Need, connectedMs: number): Promise<RefreshResult | undefined> {
  const { clock, address, backoff, endpoint, set, store } = parts;
  const earliestMs = Math.max(backoff.pause()?.untilMs ?? 0, successorAtMs(need));
  if (clock.nowMs() < earliestMs) {
    await waitUntil(earliestMs, clock);
    const found = await readShared(parts, need);
    if (found !== undefined) return found;
  }
  address.mergeShared(await store.readPause(address.key));
  if (address.pause() !== undefined) return undefined;
  const startedMs = clock.nowMs();
  const timeoutMs = parts.tokenTimeoutMs - connectedMs;
  const answer = await requestToken(endpoint, set, { wallMs: () => clock.wallMs(), timeoutMs });
  if (answer.kind !== "issued") return pauseAfter(parts, need, answer, startedMs);
  await recordAnswer(parts, need, answer, startedMs);
  return publish(parts, need, answer.grant, startedMs);
}

/** A repeated token has a successor only when it has ended. A 401 does not wait for that. */
function successorAtMs({ newerThan, site }: Need): number {
  return newerThan?.isRepeated && site === undefined ? endsAtMs(newerThan) : 0;
}

/** Reports an answer, or its absence. The pause of the address that follows from it is shared. */
async function recordAnswer(parts: RefreshParts, need: Need, answer: TokenAnswer, startedMs: number): Promise<Pause> {
  const { clock, address, backoff, environment, set, tokenUrl, store, report } = parts;
  const endedMs = clock.nowMs();
  const pause = backoff.onAnswer(answer);
  const pauseOfAddress = address.onAnswer(parts.key, answer, pause.untilMs - endedMs);
  if (pauseOfAddress !== undefined) await store.pause(address.key, pauseOfAddress);
  report({
    kind: "token_requested",
    environment,
    credential: set.label,
    server: tokenUrl.origin,
    result: answer.kind,
    reason: need.reason,
    durationMs: endedMs - startedMs,
    status: answer.status,
    cause: answer.kind === "issued" ? undefined : answer.cause,
    ...(answer.kind === "issued" ? undefined : explainNoToken(answer, parts, "operator")),
    pauseMs: answer.kind === "issued" ? undefined : Math.max(pause.untilMs, address.pause()?.untilMs ?? 0) - endedMs,
    assertionRemainingMs: answer.assertionRemainingMs,
    isEarly: isEarly(need, answer, endedMs) || undefined,
  });
  return pause;
}

function isEarly({ reason, sinceMs, isAwaited }: Need, { kind, status }: TokenAnswer, endedMs: number): boolean {
  const isUnanswered = kind === "failed" && status === undefined;
  return reason === "start" && !isAwaited && isUnanswered && endedMs - sinceMs < earlyMs;
}

/** No token was issued: the pause that follows is shared, if the authorization server has caused it. */
async function pauseAfter(
  parts: RefreshParts,
  need: Need,
  answer: TokenAnswer,
  startedMs: number,
): Promise<RefreshResult> {
  const { backoff, set, store, key } = parts;
  const pause = await recordAnswer(parts, need, answer, startedMs);
  // Each replica has its own assertion file: a stale file must not stop the other replicas.
  const isOwn = answer.kind === "refused" && set.token?.clientAuth.method === "assertion";
  const shared = isOwn ? undefined : backoff.toShared();
  if (shared !== undefined) await store.pause(key, shared);
  return { kind: "paused", pause };
}

/** In a loop, because a timer may fire a fraction of a millisecond early. */
async function waitUntil(untilMs: number, clock: Clock): Promise<void> {
  while (clock.nowMs() < untilMs) await sleep(clock, untilMs - clock.nowMs());
}

/** Shares a new token. If this process stood still, another process's token may be newer: then that token is used. */
async function publish(parts: RefreshParts, need: Need, grant: Grant, startedMs: number): Promise<RefreshResult> {
  const { clock, store, key, set, forcedRefreshes } = parts;
  const { newerThan, site } = need;
  const savedAtMs = clock.nowMs();
  const issuedWithinMs = savedAtMs - startedMs;
  const id = tokenId(grant.secret);
  const issued = { ...grant, issuedWithinMs, isRepeated: id === newerThan?.id && site === undefined };
  const stored = await store.save(key, issued, issuedWithinMs);
  const own = { ...issued, id, credential: set.label, issuedAtMs: startedMs };
  const theirs = toToken(parts, stored, savedAtMs);
  const issuedHere = theirs.id === own.id || !isNewer(theirs, newerThan);
  const token = issuedHere ? own : theirs;
  if (site === undefined || newerThan === undefined) return { kind: "token", token, issuedHere };
  await store.countForced(key, forcedRefreshes.forced(site, token, newerThan));
  return token.id !== newerThan.id ? { kind: "token", token, issuedHere } : { kind: "suppressed", reason: "paused" };
}
