import type { Clock } from "../../model/clock.ts";
import type { Environment } from "../../model/environment.ts";
import type { TokenEvent } from "../../model/events.ts";
import { formatTime } from "./format-time.ts";
import type { CredentialStatus, TokenStatus } from "./snapshot.ts";

type Of<Kind extends TokenEvent["kind"]> = Extract<TokenEvent, { kind: Kind }>;

/**
 * As it is shown, but for a token's end, which is kept on the monotonic clock, and its use: that changes with every
 * request, and is formatted only when somebody looks.
 */
interface Noted extends Omit<CredentialStatus, "token" | "lastUsedAt"> {
  readonly token: NotedToken | "none";
  lastUsedMs: number | undefined;
}

type NotedToken = Pick<TokenStatus, "lifetimeMs" | "issuedHere" | "reason"> & { readonly endsMs: number };

/** How each credential set stands. Bounded by the configuration. */
export class TokenStats {
  readonly #clock: Clock;
  #noted = new Map<string, Noted>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets that stay keep what is known of them; new ones come, others go. */
  follow(environments: Iterable<Environment>): void {
    const noted = new Map<string, Noted>();
    for (const { name: environment, sites } of environments) {
      for (const { credentials, identifier } of sites.values()) {
        if (credentials?.owner !== identifier) continue;
        const keys = credentials.sets.map(({ label: credential }) => {
          const key = keyOf({ environment, credential });
          noted.set(key, noted.get(key) ?? this.#noted.get(key) ?? blank(environment, credential));
          return key;
        });
        activateOne(keys, noted);
      }
    }
    this.#noted = noted;
  }

  note(event: TokenEvent): void {
    switch (event.kind) {
      case "token_adopted": {
        const { lifetimeMs, remainingMs, issuedHere, reason } = event;
        const endsMs = this.#clock.nowMs() + remainingMs;
        this.#update(event, {
          token: { lifetimeMs, endsMs, issuedHere, reason },
          nextTryAt: undefined,
          failingSince: undefined,
        });
        return;
      }
      case "token_lapsed":
        this.#update(event, { token: "none" });
        return;
      case "token_used": {
        const noted = this.#noted.get(keyOf(event));
        if (noted !== undefined) noted.lastUsedMs = this.#clock.wallMs();
        return;
      }
      case "token_requested":
        this.#noteRequest(event);
        return;
      case "credential_switched":
        this.#update({ ...event, credential: event.from }, { isActive: false });
        this.#update({ ...event, credential: event.to }, { isActive: true });
        return;
      default:
        return;
    }
  }

  view(): CredentialStatus[] {
    return [...this.#noted.values()].map(({ lastUsedMs, token, ...noted }) => {
      const lastUsedAt = lastUsedMs === undefined ? undefined : formatTime(lastUsedMs);
      return { ...noted, token: this.#viewToken(token), lastUsedAt };
    });
  }

  #noteRequest(event: Of<"token_requested">): void {
    const { result, reason, status, cause, pauseMs } = event;
    const { requests: before = {}, failingSince } = this.#noted.get(keyOf(event)) ?? {};
    const at = this.#at();
    this.#update(event, {
      requests: { ...before, [result]: (before[result] ?? 0) + 1 },
      lastRequest: { at, result, reason, status, cause },
      failingSince: result === "issued" ? undefined : (failingSince ?? at),
      nextTryAt: pauseMs === undefined ? undefined : this.#at(pauseMs),
      ...(result === "refused" ? { lastRefusal: { at, reason, status } } : {}),
    });
  }

  #update(of: { environment: string; credential: string }, change: Partial<Noted>): void {
    const noted = this.#noted.get(keyOf(of));
    if (noted !== undefined) this.#noted.set(keyOf(of), { ...noted, ...change });
  }

  #viewToken(token: Noted["token"]): CredentialStatus["token"] {
    if (token === "none") return token;
    const { endsMs, lifetimeMs, issuedHere, reason } = token;
    const remainingMs = endsMs - this.#clock.nowMs();
    const expiresAt = this.#at(remainingMs);
    return { issuedAt: this.#at(remainingMs - lifetimeMs), expiresAt, lifetimeMs, remainingMs, issuedHere, reason };
  }

  #at(offsetMs = 0): string {
    return formatTime(this.#clock.wallMs() + offsetMs);
  }
}

function blank(environment: string, credential: string): Noted {
  return {
    environment,
    credential,
    isActive: false,
    token: "none",
    lastUsedMs: undefined,
    requests: {},
    lastRequest: undefined,
    failingSince: undefined,
    lastRefusal: undefined,
    nextTryAt: undefined,
  };
}

/** A site whose set in use has gone, or that is new, uses its first. */
function activateOne([first, ...rest]: readonly string[], noted: Map<string, Noted>): void {
  if (first === undefined || [first, ...rest].some((key) => noted.get(key)?.isActive)) return;
  const chosen = noted.get(first);
  if (chosen !== undefined) noted.set(first, { ...chosen, isActive: true });
}

function keyOf({ environment, credential }: { environment: string; credential: string }): string {
  return `${environment} ${credential}`;
}
