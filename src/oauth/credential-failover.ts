import type { Clock } from "../model/clock.ts";
import type { CredentialSnapshot } from "../model/credential-snapshot.ts";
import type { CredentialSet } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import type { Report } from "../model/events.ts";
import type { Pause } from "./endpoint-backoff.ts";
import type { Token } from "./token.ts";
import type { Obtained, TokenCache } from "./token-cache.ts";
import type { TokenSource } from "./token-source.ts";

/** One credential set and its token. */
export interface Candidate {
  readonly set: CredentialSet;
  readonly source: TokenCache;
}

export interface FailoverParts {
  readonly environment: string;
  /** The S… at which the sets are configured. */
  readonly owner: string;
  /** First choice first; one or two. */
  readonly members: readonly [Candidate, ...Candidate[]];
  /** `timeouts.token`: the longest wait for a token, within the request's own deadline. */
  readonly tokenTimeoutMs: number;
  readonly clock: Clock;
  readonly report: Report;
}

/** What a caller is told to wait when nothing better is known. */
const defaultRetryMs = 1_000;

/**
 * The first set serves; the second takes over when the authorization server refuses the first, and gives way when the first is
 * accepted again. A set that still has a live token is used before anyone waits for another set's, and so is a token of
 * a set's former secret while the present secret has none.
 */
export class CredentialFailover implements TokenSource {
  readonly #parts: FailoverParts;
  #members: FailoverParts["members"];
  #tokenTimeoutMs: number;
  #inUse: string;

  constructor(parts: FailoverParts) {
    this.#parts = parts;
    this.#members = parts.members;
    this.#tokenTimeoutMs = parts.tokenTimeoutMs;
    this.#inUse = parts.members[0].set.label;
  }

  /** Other sets from now on; requests that are under way go on with them. */
  use(members: FailoverParts["members"], tokenTimeoutMs: number): void {
    this.#members = members;
    this.#tokenTimeoutMs = tokenTimeoutMs;
    if (!members.some(({ set }) => set.label === this.#inUse)) this.#switchTo(members[0].set.label);
  }

  async get(deadlineMs: number): Promise<Token> {
    const token = this.#pickLive() ?? (await this.#wait(deadlineMs));
    this.#noteUse(token);
    return token;
  }

  /** Its sets at this moment, in order. */
  snapshot(): CredentialSnapshot[] {
    return this.#members.map(({ source, set }) => ({ ...source.snapshot(), isActive: set.label === this.#inUse }));
  }

  /** Fetches a token in the background if there is none: the first set's, or the second's once the first is refused. */
  warm(): void {
    const members = this.#members;
    if (members.some(({ source }) => source.hasToken)) return;
    const { source } = members.find(({ source }) => !source.isRefused) ?? members[0];
    void source.warm("start");
  }

  accepted(token: Token, site: string): void {
    this.#memberOf(token).source.accepted(token, site);
  }

  cured(token: Token, site: string): void {
    this.#memberOf(token).source.cured(token, site);
  }

  async replace(token: Token, site: string, deadlineMs: number): Promise<Token | undefined> {
    const { source } = this.#memberOf(token);
    const untilMs = this.#waitUntilMs(deadlineMs);
    const newer = await source.replace(token, site, untilMs);
    return newer ?? (source.isSuspect ? await this.#replaceByOther(source, untilMs) : undefined);
  }

  /** Service and authorization server have both refused a set: another one serves, if it can. */
  async #replaceByOther(doubtful: TokenCache, untilMs: number): Promise<Token | undefined> {
    const other = this.#members.find(({ source }) => source !== doubtful && !source.isRefused);
    const obtained = await other?.source.get(untilMs);
    if (obtained === undefined || obtained === "late" || !("token" in obtained)) return undefined;
    this.#noteUse(obtained.token);
    return obtained.token;
  }

  refusedAgain(token: Token, site: string): void {
    this.#memberOf(token).source.refusedAgain(token, site);
  }

  /**
   * A live token of the first set that is not refused, else of any. The preferred set is warmed meanwhile; it is waited
   * for where the other token is doubtful.
   */
  #pickLive(): Token | undefined {
    const members = this.#members;
    const preferred = members.find(({ source }) => !source.isRefused);
    for (const { source } of members) if (source.isRefused) void source.warm("missing");
    const token = preferred?.source.current();
    if (token !== undefined) return token;
    for (const { source } of members) {
      if (source === preferred?.source || (preferred !== undefined && source.isSuspect)) continue;
      const other = source.current();
      if (other === undefined) continue;
      void preferred?.source.warm("missing");
      return other;
    }
    return this.#pickFormer(preferred);
  }

  /** A changed secret may be wrong, or not yet accepted: what the former one was given serves to its end. */
  #pickFormer(preferred: Candidate | undefined): Token | undefined {
    for (const { source } of this.#members) {
      const former = preferred !== undefined && source.isSuspect ? undefined : source.peekFormer();
      if (former === undefined) continue;
      void preferred?.source.warm("missing");
      return former;
    }
    return undefined;
  }

  /** Sets in order; only a refusal sends the caller on to the next one. */
  async #wait(deadlineMs: number): Promise<Token> {
    const untilMs = this.#waitUntilMs(deadlineMs);
    const pauses: Pause[] = [];
    for (const { source, set } of this.#members) {
      const obtained: Obtained = await source.get(untilMs);
      if (obtained === "late") throw this.#late(set, source.pause);
      if ("token" in obtained) return obtained.token;
      if (obtained.pause.kind !== "refused") throw this.#unavailable(set, obtained.pause);
      pauses.push(obtained.pause);
    }
    throw this.#refused(pauses);
  }

  #waitUntilMs(deadlineMs: number): number {
    return Math.min(deadlineMs, this.#parts.clock.nowMs() + this.#tokenTimeoutMs);
  }

  #noteUse(token: Token): void {
    if (token.credential !== this.#inUse) this.#switchTo(token.credential);
  }

  #switchTo(label: string): void {
    const { environment, owner, report } = this.#parts;
    report({ kind: "credential_switched", environment, site: owner, from: this.#inUse, to: label });
    this.#inUse = label;
  }

  #memberOf(token: Token): Candidate {
    const members = this.#members;
    return members.find(({ set }) => set.label === token.credential) ?? members[0];
  }

  #late(set: CredentialSet, pause: Pause | undefined): ProxyError {
    const retryAfterMs = pause === undefined ? defaultRetryMs : this.#remainingMs(pause);
    return new ProxyError(
      "token_unavailable",
      `No token for ${this.#describe(set)}: the authorization server did not answer in time. The same request may be repeated.`,
      { retryAfterMs, causedBy: causeOf(pause) ?? "no answer" },
    );
  }

  #unavailable(set: CredentialSet, pause: Pause): ProxyError {
    const retryAfterMs = this.#remainingMs(pause);
    const said = pause.status === undefined ? "could not be reached or did not answer" : `answered ${pause.status}`;
    return new ProxyError(
      "token_unavailable",
      `No token for ${this.#describe(set)}: the authorization server ${said}. Next try in ${seconds(retryAfterMs)} s. ` +
        "The same request may be repeated.",
      { retryAfterMs, causedBy: causeOf(pause) },
    );
  }

  #refused(pauses: readonly Pause[]): ProxyError {
    const members = this.#members;
    const retryAfterMs = Math.min(...pauses.map((pause) => this.#remainingMs(pause)));
    const names = members.map(({ set }) => this.#describe(set)).join(" and ");
    const rest = members.length === 1 ? "; no other set is configured" : "";
    return new ProxyError(
      "credentials_refused",
      `The authorization server refused ${names}${rest}. Wrong secret or audience, a deleted set, or another environment's. ` +
        `Next try in ${seconds(retryAfterMs)} s, or at once when the secret changes.`,
      { retryAfterMs, causedBy: causeOf(pauses[0]) },
    );
  }

  #describe(set: CredentialSet): string {
    return `credential "${set.name}" (client ${set.clientId}, site ${this.#parts.owner})`;
  }

  #remainingMs(pause: Pause): number {
    return Math.max(0, pause.untilMs - this.#parts.clock.nowMs());
  }
}

/** Why the authorization server issues nothing, for the log. */
function causeOf(pause: Pause | undefined): string | undefined {
  return pause?.cause ?? (pause?.status === undefined ? undefined : `HTTP ${pause.status}`);
}

function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
