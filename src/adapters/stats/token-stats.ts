import type { Clock, WallTime } from "../../model/clock.ts";
import { type CredentialSnapshot, credentialKey } from "../../model/credential-snapshot.ts";
import { credentialSetsOf, type Environment } from "../../model/environment.ts";
import type { TokenEvent } from "../../model/events.ts";
import type { Metrics } from "./metrics.ts";
import {
  type CredentialStatus,
  formatTime,
  type SiteStatus,
  type TokenOutage,
  type TokenRequestStatus,
  type TokenStatus,
} from "./snapshot.ts";
import { groupBy, occurrences } from "./sums.ts";

type TokenRequested = Extract<TokenEvent, { kind: "token_requested" }>;
type RequestHistory = Pick<CredentialStatus, "lastRequest" | "failingSince">;

const noRequest: RequestHistory = { lastRequest: undefined, failingSince: undefined };

/** The last requests to the authorization server, by credential set. The token that a set has now is asked for. */
export class TokenStats {
  readonly #clock: Clock;
  readonly #requests: Metrics["tokenRequests"];
  #histories = new Map<string, RequestHistory>();

  /** @param requests what came of all of them */
  constructor(requests: Metrics["tokenRequests"], clock: Clock) {
    this.#requests = requests;
    this.#clock = clock;
  }

  /** Forgets the sets that are not configured. */
  keepOnly(environments: readonly Environment[]): void {
    const wanted = new Set(
      environments.flatMap((environment) =>
        credentialSetsOf(environment).map(({ set }) =>
          credentialKey({ environment: environment.name, credential: set.label }),
        ),
      ),
    );
    this.#requests.keepOnly((labels) => wanted.has(credentialKey(labels)));
    this.#histories = new Map([...this.#histories].filter(([key]) => wanted.has(key)));
  }

  report(event: TokenEvent): void {
    if (event.kind === "token_requested") this.#keep(event);
    else if (event.kind === "token_adopted") this.#update(event, { failingSince: undefined });
  }

  view(credentials: readonly CredentialSnapshot[], wallTime: WallTime): CredentialStatus[] {
    const nowMs = this.#clock.nowMs();
    const format = (monotonicMs: number | undefined) =>
      monotonicMs === undefined ? undefined : formatTime(wallTime(monotonicMs));
    const requests = groupBy(this.#requests.kept(), ({ labels }) => credentialKey(labels));
    return credentials.map(({ environment, credential, isActive, token, lastUsedMs, backoffUntilMs }) => {
      const set = { environment, credential };
      const history = this.#historyOf(set);
      return {
        ...set,
        isActive,
        requests: occurrences(requests.get(credentialKey(set)) ?? [], ({ labels }) => labels.result),
        ...history,
        // Shown for failures alone: a short pause follows each success, too.
        nextTryAt: history.failingSince && format(backoffUntilMs),
        token: token === undefined ? "none" : viewToken(token, nowMs, wallTime),
        lastUsedAt: format(lastUsedMs),
      };
    });
  }

  #keep(event: TokenRequested): void {
    const { result, reason, status, cause } = event;
    const { failingSince } = this.#historyOf(event);
    const at = formatTime(this.#clock.wallMs());
    this.#update(event, {
      lastRequest: { at, result, reason, status, cause },
      failingSince: result === "issued" ? undefined : (failingSince ?? at),
    });
  }

  #historyOf(of: SetName): RequestHistory {
    return this.#histories.get(credentialKey(of)) ?? noRequest;
  }

  #update(of: SetName, change: Partial<RequestHistory>): void {
    this.#histories.set(credentialKey(of), { ...this.#historyOf(of), ...change });
  }
}

type SetName = Pick<CredentialSnapshot, "environment" | "credential">;

function viewToken(
  { expiresAtMs, lifetimeMs, issuedHere, reason }: NonNullable<CredentialSnapshot["token"]>,
  nowMs: number,
  wallTime: WallTime,
): TokenStatus {
  return {
    issuedAt: formatTime(wallTime(expiresAtMs - lifetimeMs)),
    expiresAt: formatTime(wallTime(expiresAtMs)),
    lifetimeMs,
    remainingMs: expiresAtMs - nowMs,
    issuedHere,
    reason,
  };
}

/**
 * Sites of an environment that have no token in any of their sets, though one was asked for: their orders fail. Sets that
 * were never asked for say nothing.
 * @param credentials those of the environment
 */
export function findTokenOutage(
  sites: readonly SiteStatus[],
  credentials: readonly CredentialStatus[],
): TokenOutage | undefined {
  const byLabel = new Map(credentials.map((credential) => [credential.credential, credential]));
  const failing = sites.flatMap(({ identifier, credentials: labels }) => {
    const sets = labels.flatMap((label) => byLabel.get(label) ?? []);
    const tried = sets.filter(({ failingSince }) => failingSince !== undefined);
    const hasToken = sets.some(({ token }) => token !== "none" && token.remainingMs > 0);
    return tried.length === 0 || hasToken ? [] : [{ identifier, tried }];
  });
  const tried = failing.flatMap((site) => site.tried);
  if (tried.length === 0) return undefined;
  const earliest = (times: readonly (string | undefined)[]) => times.filter((time) => time !== undefined).sort()[0];
  const requests = tried.flatMap(({ lastRequest }): TokenRequestStatus[] => (lastRequest ? [lastRequest] : []));
  return {
    sites: failing.map(({ identifier }) => identifier),
    since: earliest(tried.map(({ failingSince }) => failingSince)),
    lastRequest: requests.toSorted((one, other) => one.at.localeCompare(other.at)).at(-1),
    nextTryAt: earliest(tried.map(({ nextTryAt }) => nextTryAt)),
  };
}
