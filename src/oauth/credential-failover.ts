import type { Clock } from "../model/clock.ts";
import type { CredentialSet } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import type { CredentialSnapshot, NoNewerToken, Report, TokenOutage } from "../model/events.ts";
import type { Pause } from "./endpoint-backoff.ts";
import type { Token, TokenSource } from "./token.ts";
import type { TokenCache } from "./token-cache.ts";
import { noAnswer } from "./token-endpoint.ts";

interface FailoverParts {
  readonly environment: string;
  /** The S… at which the sets are configured. */
  readonly owner: string;
  /** The tokens of its sets, first choice first; one or two. */
  readonly candidates: readonly [TokenCache, ...TokenCache[]];
  /** `timeouts.token`: the longest wait for a token, within the request's own deadline. */
  readonly tokenTimeoutMs: number;
  readonly clock: Clock;
  readonly report: Report;
}

/** How long a caller should wait if no pause is known. */
const defaultRetryMs = 1_000;

/**
 * Uses the first set. While the authorization server refuses the first set, the second one takes over. A request uses any
 * set's valid token, or the token of a set's former secret, before it waits for a new one.
 */
export class CredentialFailover implements TokenSource {
  #parts: FailoverParts;
  /** The label of the set whose token was used last. */
  #active: string;

  constructor(parts: FailoverParts) {
    this.#parts = parts;
    this.#active = parts.candidates[0].set.label;
  }

  /** Replaces the sets. A wait for a token that has begun continues with the former sets. */
  use(parts: FailoverParts): void {
    this.#parts = parts;
    const { candidates } = parts;
    if (!candidates.some(({ set }) => set.label === this.#active)) this.#activate(candidates[0].set.label);
  }

  /** Its sets at this moment, in order. */
  snapshot(): readonly CredentialSnapshot[] {
    return this.#parts.candidates.map((source) => {
      const state = source.snapshot();
      return { ...state, isActive: source.set.label === this.#active && !state.isInOutage };
    });
  }

  get(deadlineMs: number): Token | Promise<Token> {
    const usable = this.#pickUsable();
    return usable === undefined ? this.#wait(deadlineMs) : this.#activateSetOf(usable);
  }

  outage(): TokenOutage | undefined {
    const { candidates } = this.#parts;
    if (!candidates.every(({ isInOutage }) => isInOutage)) return undefined;
    for (const source of candidates) void source.warm("missing");
    return candidates.every(({ isRefused }) => isRefused) ? "credentials_refused" : "token_unavailable";
  }

  /** Fetches a token in the background if there is none: the first set's, or the second's once the first is refused. */
  warm(): void {
    if (this.#parts.candidates.some(({ hasToken }) => hasToken)) return;
    const source = this.#preferred() ?? this.#parts.candidates[0];
    void source.warm("start");
  }

  accepted(token: Token, site: string, sentAtMs: number): void {
    this.#sourceOf(token).accepted(token, site, sentAtMs);
  }

  cured(token: Token, site: string, sentAtMs: number): void {
    this.#sourceOf(token).cured(token, site, sentAtMs);
  }

  refused(token: Token, site: string): void {
    this.#sourceOf(token).refused(token, site);
  }

  async replace(token: Token, site: string, deadlineMs: number): Promise<Token | NoNewerToken> {
    const source = this.#sourceOf(token);
    const newer = await source.replace(token, site, deadlineMs);
    if (typeof newer === "object" || !source.isSuspect) return newer;
    // Service and authorization server have both refused the set: another set is used, if it has or gets a token.
    const other = this.#parts.candidates.find((candidate) => candidate !== source && !candidate.isRefused);
    const result = await other?.get(this.#waitUntilMs(deadlineMs));
    return result !== undefined && "secret" in result ? this.#activateSetOf(result) : newer;
  }

  /** The first set that is not passed over. */
  #preferred(): TokenCache | undefined {
    return this.#parts.candidates.find(({ isPassedOver }) => !isPassedOver);
  }

  /**
   * A token that needs no wait: the preferred set's; else another set's (a suspect set's only if no set is preferred); else
   * a former secret's, since the changed secret may be wrong or not yet accepted. Meanwhile refreshes begin if needed.
   */
  #pickUsable(): Token | undefined {
    const preferred = this.#preferred();
    for (const source of this.#parts.candidates) if (source.isPassedOver) void source.warm("missing");
    const token = preferred?.current();
    if (token !== undefined) return token;
    const usable = this.#parts.candidates.filter(({ isSuspect }) => preferred === undefined || !isSuspect);
    let other: Token | undefined;
    for (const source of usable) if (source !== preferred) other ??= source.current();
    for (const source of usable) other ??= source.currentFormer();
    if (other !== undefined) void preferred?.warm("missing");
    return other;
  }

  /** Tries the sets, those that are passed over last. The next set is tried only if the authorization server refuses a set. */
  async #wait(deadlineMs: number): Promise<Token> {
    const untilMs = this.#waitUntilMs(deadlineMs);
    const pauses: Pause[] = [];
    for (const source of this.#inOrder()) {
      const result = await source.get(untilMs);
      // The refresh continues. Its failures so far are known only while it pauses.
      if (result === undefined) throw this.#unavailable(source, source.pause);
      if ("secret" in result) return this.#activateSetOf(result);
      if (result.kind !== "refused") throw this.#unavailable(source, result);
      pauses.push(result);
    }
    throw this.#refused(pauses);
  }

  /** All sets in their order if all are passed over. */
  #inOrder(): readonly TokenCache[] {
    const { candidates } = this.#parts;
    const preferred = this.#preferred();
    return preferred === undefined ? candidates : [preferred, ...candidates.filter((source) => source !== preferred)];
  }

  #waitUntilMs(deadlineMs: number): number {
    return Math.min(deadlineMs, this.#parts.clock.nowMs() + this.#parts.tokenTimeoutMs);
  }

  #activateSetOf(token: Token): Token {
    if (token.credential !== this.#active) this.#activate(token.credential);
    return token;
  }

  #activate(label: string): void {
    const { environment, owner, report } = this.#parts;
    report({ kind: "credential_switched", environment, site: owner, from: this.#active, to: label });
    this.#active = label;
  }

  #sourceOf(token: Token): TokenCache {
    const candidates = this.#parts.candidates;
    return candidates.find(({ set }) => set.label === token.credential) ?? candidates[0];
  }

  #unavailable(source: TokenCache, pause: Pause | undefined): ProxyError {
    const { detail, fix } = source.explain(pause);
    const retryAfterMs = pause === undefined ? defaultRetryMs : this.#untilNextTryMs(source, pause);
    return new ProxyError(
      "token_unavailable",
      `No token for ${this.#describe(source.set)}: ${detail}; ${fix}. Next try in ${seconds(retryAfterMs)} s. The same request may be repeated.`,
      { retryAfterMs, causedBy: causeOf(pause) ?? noAnswer },
    );
  }

  #refused(pauses: readonly Pause[]): ProxyError {
    const candidates = this.#parts.candidates;
    const retryAfterMs = Math.min(...candidates.map((source) => this.#untilNextTryMs(source)));
    const names = candidates.map(({ set }) => this.#describe(set)).join(" and ");
    const rest = candidates.length === 1 ? "; no other set is configured" : "";
    const { fix } = candidates[0].explain(pauses[0]);
    return new ProxyError(
      "credentials_refused",
      `The authorization server refused ${names}${rest}; ${fix}. ` +
        `Next try in ${seconds(retryAfterMs)} s, or at once when the secret changes.`,
      { retryAfterMs, causedBy: causeOf(pauses[0]) },
    );
  }

  #describe(set: CredentialSet): string {
    return `credential "${set.name}" (client ${set.clientId}, site ${this.#parts.owner})`;
  }

  #untilNextTryMs(source: TokenCache, pause?: Pause): number {
    return Math.max(0, Math.max(pause?.untilMs ?? 0, source.nextTryMs) - this.#parts.clock.nowMs());
  }
}

/** Why the authorization server issues no token, for the log. */
function causeOf(pause: Pause | undefined): string | undefined {
  return pause?.cause ?? (pause?.status === undefined ? undefined : `HTTP ${pause.status}`);
}

function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
