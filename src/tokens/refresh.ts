import { type Clock, sleep } from "../clock.ts";
import type { CredentialSet } from "../environment.ts";
import type { RefreshReason, Report } from "../events.ts";
import type { Conduct, Pause } from "./conduct.ts";
import { type PostForm, requestToken, type TokenAnswer } from "./endpoint.ts";
import type { Lease, RefreshLock } from "./lock.ts";
import type { StoredToken, TokenStore } from "./store.ts";

/** Everything one credential set's refresh needs. */
export interface RefreshParts {
  readonly environment: string;
  readonly set: CredentialSet;
  /** From `cacheKey`. */
  readonly key: string;
  readonly store: TokenStore;
  readonly lock: RefreshLock;
  readonly post: PostForm;
  readonly conduct: Conduct;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly report: Report;
}

/** A newer token, or the pause that stands in the way of one. */
export type Refreshed =
  | { readonly kind: "token"; readonly stored: StoredToken; readonly issuedHere: boolean }
  | { readonly kind: "paused"; readonly pause: Pause };

/** Polls between two tries for the lock while somebody else holds it. */
const pollsPerTry = 10;

/**
 * The single-refresh dance: look, lock, look again, fetch, save, unlock.
 * @param newerThan the order of issue of the token at hand; only a newer one will do. 0 when there is none.
 */
export async function refresh(parts: RefreshParts, reason: RefreshReason, newerThan: number): Promise<Refreshed> {
  const found = await look(parts, newerThan);
  if (found !== undefined) return found;
  const turn = await awaitTurn(parts, newerThan);
  if ("kind" in turn) return turn;
  try {
    return (await look(parts, newerThan)) ?? (await fetch(parts, reason));
  } finally {
    await turn.lease?.release();
  }
}

async function look(parts: RefreshParts, newerThan: number): Promise<Refreshed | undefined> {
  const stored = await parts.store.read(parts.key);
  if (stored === undefined || stored.issue <= newerThan || isSpent(stored)) return undefined;
  return { kind: "token", stored, issuedHere: false };
}

/** A token in its last tenth is nobody's gain: it would be refreshed again at once. */
function isSpent(stored: StoredToken): boolean {
  return stored.remainingMs <= stored.lifetimeMs / 10;
}

/** Waits until it holds the lock or sees the other holder's token. Without a working lock everyone goes ahead. */
async function awaitTurn(parts: RefreshParts, newerThan: number): Promise<{ lease?: Lease } | Refreshed> {
  for (;;) {
    const lease = await parts.lock.tryAcquire(parts.key);
    parts.report({ kind: "refresh_lock_tried", result: typeof lease === "string" ? lease : "acquired" });
    if (lease === "unavailable") return {};
    if (lease !== "held") return { lease };
    for (let poll = 0; poll < pollsPerTry; poll++) {
      await sleep(parts.clock, 30 + 40 * parts.random());
      const found = await look(parts, newerThan);
      if (found !== undefined) return found;
    }
  }
}

async function fetch(parts: RefreshParts, reason: RefreshReason): Promise<Refreshed> {
  for (let retriesMade = 0; ; retriesMade++) {
    await sitOut(parts);
    const { answer, pause } = await requestAndReport(parts, reason);
    if (answer.kind === "issued") {
      return { kind: "token", stored: await parts.store.save(parts.key, answer.grant), issuedHere: true };
    }
    if (!parts.conduct.mayRetry(answer, retriesMade)) return { kind: "paused", pause };
  }
}

/** Only short pauses are ever sat out here: the spacing between refreshes and the back-off within one. */
async function sitOut({ conduct, clock }: RefreshParts): Promise<void> {
  const pause = conduct.pause();
  if (pause !== undefined) await sleep(clock, pause.untilMs - clock.nowMs());
}

async function requestAndReport(
  parts: RefreshParts,
  reason: RefreshReason,
): Promise<{ answer: TokenAnswer; pause: Pause }> {
  const { clock, conduct, environment, set, report } = parts;
  const startedMs = clock.nowMs();
  const answer = await requestToken(parts.post, set, () => clock.wallMs());
  const endedMs = clock.nowMs();
  const pause = conduct.note(answer);
  report({
    kind: "token_requested",
    environment,
    credential: set.label,
    result: answer.kind,
    reason,
    durationMs: endedMs - startedMs,
    status: "status" in answer ? answer.status : undefined,
    pauseMs: answer.kind === "issued" ? undefined : pause.untilMs - endedMs,
  });
  return { answer, pause };
}
