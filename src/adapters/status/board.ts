import type { Clock } from "../../clock.ts";
import type { Environment } from "../../environment.ts";
import type { Event, RefreshReason, RequestFinished, TokenEvent } from "../../events.ts";

type TokenRequested = Extract<TokenEvent, { kind: "token_requested" }>;

/** How a credential set stands; times are ISO 8601 by this process's wall clock. */
interface CredentialStatus {
  readonly environment: string;
  readonly credential: string;
  isActive: boolean;
  token: { issuedAt: string; expiresAt: string; issuedHere: boolean; reason: RefreshReason } | "none";
  lastUsedAt: string | undefined;
  lastRequest: { at: string; result: string; reason: RefreshReason; status: number | undefined } | undefined;
  lastRefusalAt: string | undefined;
  nextTryAt: string | undefined;
}

/** A request whose effect is not known: what somebody has to look up before the order is sent again. */
interface UnknownFailure {
  readonly at: string;
  readonly environment: string;
  readonly site: string | undefined;
  readonly operation: string | undefined;
  readonly reference: string | undefined;
  readonly requestId: string;
  readonly code: string | undefined;
  readonly stage: string;
}

const keptFailures = 100;

/** Keeps what `/status` shows, from the same facts that metrics and logs are made of. Bounded by the configuration. */
export class StatusBoard {
  readonly #clock: Clock;
  readonly #credentials = new Map<string, CredentialStatus>();
  readonly #unknown: UnknownFailure[] = [];
  readonly #answered = { service: 0, countersign: 0 };
  readonly #failures = new Map<string, number>();
  /** By node; bounded by the configured ones. */
  readonly #redis = new Map<string, { isUp: boolean; since: string; failure?: string }>();

  constructor(environments: Iterable<Environment>, clock: Clock) {
    this.#clock = clock;
    for (const { name: environment, sites } of environments) {
      for (const { credentials, identifier } of sites.values()) {
        if (credentials?.owner !== identifier) continue;
        for (const [index, { label }] of credentials.sets.entries()) this.#open(environment, label, index === 0);
      }
    }
  }

  /** Takes note of a fact. */
  readonly report = (event: Event): void => {
    switch (event.kind) {
      case "request_finished":
        this.#noteRequest(event);
        return;
      case "token_adopted": {
        const { lifetimeMs, remainingMs, issuedHere, reason } = event;
        const expiresAtMs = this.#clock.wallMs() + remainingMs;
        const token = {
          issuedAt: formatTime(expiresAtMs - lifetimeMs),
          expiresAt: formatTime(expiresAtMs),
          issuedHere,
          reason,
        };
        this.#update(event, { token, nextTryAt: undefined });
        return;
      }
      case "token_lapsed":
        this.#update(event, { token: "none" });
        return;
      case "token_used":
        this.#update(event, { lastUsedAt: this.#at(0) });
        return;
      case "token_requested":
        this.#noteTokenRequest(event);
        return;
      case "redis_down":
        this.#redis.set(event.node, { isUp: false, since: this.#at(0), failure: event.failure });
        return;
      case "redis_up":
        this.#redis.set(event.node, { isUp: true, since: this.#at(0) });
        return;
      case "credential_switched":
        this.#update({ ...event, credential: event.from }, { isActive: false });
        this.#update({ ...event, credential: event.to }, { isActive: true });
        return;
      default:
        return;
    }
  };

  /** What `/status` shows of what has happened; newest failures first. */
  snapshot(): object {
    return {
      requests: { answeredBy: this.#answered, failures: Object.fromEntries(this.#failures) },
      credentials: [...this.#credentials.values()],
      ...(this.#redis.size === 0 ? {} : { redis: Object.fromEntries(this.#redis) }),
      unknownOutcomes: this.#unknown.toReversed(),
    };
  }

  #open(environment: string, credential: string, isActive: boolean): void {
    this.#credentials.set(keyOf({ environment, credential }), {
      environment,
      credential,
      isActive,
      token: "none",
      lastUsedAt: undefined,
      lastRequest: undefined,
      lastRefusalAt: undefined,
      nextTryAt: undefined,
    });
  }

  #update(of: { environment: string; credential: string }, change: Partial<CredentialStatus>): void {
    const status = this.#credentials.get(keyOf(of));
    if (status !== undefined) Object.assign(status, change);
  }

  #noteTokenRequest(event: TokenRequested): void {
    const { result, reason, status, pauseMs } = event;
    const at = this.#at(0);
    this.#update(event, {
      lastRequest: { at, result, reason, status },
      nextTryAt: pauseMs === undefined ? undefined : this.#at(pauseMs),
      ...(result === "refused" ? { lastRefusalAt: at } : {}),
    });
  }

  #noteRequest(event: RequestFinished): void {
    this.#answered[event.by] += 1;
    if (event.code !== undefined) this.#failures.set(event.code, (this.#failures.get(event.code) ?? 0) + 1);
    if (event.outcome !== "unknown") return;
    const { environment, site, operation, reference, requestId, code, stage } = event;
    this.#unknown.push({ at: this.#at(0), environment, site, operation, reference, requestId, code, stage });
    if (this.#unknown.length > keptFailures) this.#unknown.shift();
  }

  #at(offsetMs: number): string {
    return formatTime(this.#clock.wallMs() + offsetMs);
  }
}

function keyOf({ environment, credential }: { environment: string; credential: string }): string {
  return `${environment} ${credential}`;
}

function formatTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
