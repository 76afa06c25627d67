import type { Clock, WallTime } from "../../model/clock.ts";
import { type CredentialSnapshot, credentialKey, type TokenEvent } from "../../model/events.ts";
import type { Series } from "./series.ts";
import { formatTime, groupBy, occurrences, sumOf } from "./sums.ts";

type TokenRequested = Extract<TokenEvent, { kind: "token_requested" }>;
type TokenAdopted = Extract<TokenEvent, { kind: "token_adopted" }>;

export interface TokenRequestStatus
  extends Pick<TokenRequested, "result" | "reason" | "status" | "cause" | "detail" | "fix"> {
  readonly at: string;
}

interface RequestHistory {
  readonly lastRequest?: TokenRequestStatus;
  /** When the present run of failed requests began; undefined after a success. */
  readonly failingSince?: string | undefined;
}

/** A credential set: its present token, and the results of its token requests. */
export type CredentialStatus = ReturnType<ReturnType<typeof createTokenStats>["view"]>[number];
export type TokenStatus = ReturnType<typeof viewToken>;
export type SitesWithoutToken = ReturnType<typeof findSitesWithoutToken>[number];

/**
 * The last requests to the authorization server, by credential set. The present token comes from the snapshot.
 */
export function createTokenStats(clock: Clock) {
  const histories = new Map<string, RequestHistory>();

  return {
    report(event: TokenRequested | TokenAdopted): void {
      const key = credentialKey(event);
      const known = histories.get(key);
      if (event.kind === "token_adopted") {
        histories.set(key, { ...known, failingSince: undefined });
        return;
      }
      const { result, reason, status, cause, detail, fix } = event;
      const at = formatTime(clock.wallMs());
      const failingSince = result === "issued" ? undefined : (known?.failingSince ?? at);
      histories.set(key, { lastRequest: { at, result, reason, status, cause, detail, fix }, failingSince });
    },

    /** @param counts token requests by result */
    view(
      counts: readonly Series<Readonly<Record<"environment" | "credential" | "result", string>>>[],
      credentials: readonly CredentialSnapshot[],
      wallTime: WallTime,
    ) {
      const nowMs = clock.nowMs();
      const format = (monotonicMs: number | undefined) =>
        monotonicMs === undefined ? undefined : formatTime(wallTime(monotonicMs));
      const requests = groupBy(counts, ({ labels }) => credentialKey(labels));
      return credentials.map(({ environment, credential, isActive, token, lastUsedMs, ...pauses }) => {
        const key = credentialKey({ environment, credential });
        const { lastRequest, failingSince } = histories.get(key) ?? {};
        const { backoffUntilMs = 0, addressPausedUntilMs = 0 } = pauses;
        const nextTryMs = Math.max(addressPausedUntilMs, failingSince === undefined ? 0 : backoffUntilMs);
        return {
          environment,
          credential,
          isActive,
          /** To the authorization server, by result. */
          requests: occurrences(requests.get(key) ?? [], ({ labels }) => labels.result),
          lastRequest,
          failingSince,
          /** When Countersign asks the authorization server again, while it backs off after a failure, or the address pauses. A success has a short pause, too. */
          nextTryAt: format(nextTryMs || undefined),
          token: token === undefined ? ("none" as const) : viewToken(token, nowMs, wallTime),
          lastUsedAt: format(lastUsedMs),
        };
      });
    },
  };
}

function viewToken(
  { expiresAtMs, lifetimeMs, issuedHere, reason }: NonNullable<CredentialSnapshot["token"]>,
  nowMs: number,
  wallTime: WallTime,
) {
  return {
    issuedAt: formatTime(wallTime(expiresAtMs - lifetimeMs)),
    expiresAt: formatTime(wallTime(expiresAtMs)),
    lifetimeMs,
    /** By the monotonic clock, so that a wall clock that was set does not matter. */
    remainingMs: expiresAtMs - nowMs,
    issuedHere,
    reason,
  };
}

/** A site, the labels of its credential sets, and how many of its orders failed lately. */
export interface SiteSets {
  readonly identifier: string;
  readonly credentials: readonly string[];
  readonly failedLately: number;
}

/**
 * Sites of an environment that have no token in any of their sets, though one was requested: by what their last token requests
 * met, and so by set where the sets are refused. Most failed orders first. Sets without a request do not count.
 * @param credentials the environment's
 */
export function findSitesWithoutToken(sites: readonly SiteSets[], credentials: readonly CredentialStatus[]) {
  const byLabel = new Map(credentials.map((credential) => [credential.credential, credential]));
  const failing = sites.flatMap((site) => {
    const sets = site.credentials.flatMap((label) => byLabel.get(label) ?? []);
    const hasToken = sets.some(({ token }) => token !== "none" && token.remainingMs > 0);
    return hasToken ? [] : sets.filter(({ failingSince }) => failingSince !== undefined).map((set) => ({ site, set }));
  });
  const earliest = (times: readonly (string | undefined)[]) => times.filter((time) => time !== undefined).sort()[0];
  const alike = groupBy(failing, ({ set: { lastRequest: last } }) => `${last?.detail}; ${last?.fix}`);
  const outages = [...alike.values()].map((group) => {
    const requests = group.flatMap(({ set: { lastRequest } }) => (lastRequest ? [lastRequest] : []));
    const without = [...new Set(group.map(({ site }) => site))];
    const outage = {
      sites: without.map(({ identifier }) => identifier),
      sets: [...new Set(group.map(({ set }) => set.credential))],
      since: earliest(group.map(({ set }) => set.failingSince)),
      lastRequest: requests.toSorted((one, other) => one.at.localeCompare(other.at)).at(-1),
      nextTryAt: earliest(group.map(({ set }) => set.nextTryAt)),
    };
    return { outage, failed: sumOf(without, ({ failedLately }) => failedLately) };
  });
  return outages.sort((one, other) => other.failed - one.failed).map(({ outage }) => outage);
}
