import type { Cancel } from "../model/clock.ts";
import { describeDefect } from "../model/defect.ts";
import type { Pause } from "./endpoint-backoff.ts";
import { KeepAlive } from "./keep-alive.ts";
import { publish } from "./publish.ts";
import { type Need, obstacleTo, type Refreshed, type RefreshParts, refresh } from "./refresh.ts";
import type { LimitEvent } from "./shared-limits.ts";
import { freshness, isNewer, type Token } from "./token.ts";
import { within } from "./within.ts";

/** A token, the pause in its way, or `late` when it did not come in time. */
export type Obtained = { readonly token: Token } | { readonly pause: Pause } | "late";

/** While an obstacle is known, the shared store is asked this often whether it still stands. */
const lookAgainMs = 1_000;

/**
 * One credential set's token: memory first, then the shared store, then a refresh; one flight at a time in this
 * process. A flight is never cancelled: whoever stops waiting leaves it to the others.
 */
export class TokenCache {
  readonly #parts: RefreshParts;
  #token: Token | undefined;
  /** The token of the set's former secret: it serves to its end while the present secret has none. */
  #formerToken: Token | undefined;
  #flight: Promise<Refreshed> | undefined;
  /** The newest token that the service has answered 401 to. */
  #refusedToken: Token | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /** Until then another process is left to refresh the token that is due. */
  #restUntilMs = 0;
  readonly #keepAlive: KeepAlive;
  #cancelRejoin: Cancel = () => {};

  constructor(parts: RefreshParts) {
    this.#parts = parts;
    this.#keepAlive = new KeepAlive(parts.clock, parts.thresholds, {
      refresh: () => {
        void this.warm("due");
        return this.#flight === undefined ? (this.pause?.untilMs ?? Number.POSITIVE_INFINITY) : undefined;
      },
      lapse: () => this.#lapse(),
    });
  }

  /** The pause in force towards the authorization server, if any. */
  get pause(): Pause | undefined {
    return this.#parts.conduct.pause();
  }

  /** The authorization server refused this set and has not accepted it since. */
  get isRefused(): boolean {
    return this.#parts.conduct.isRefused();
  }

  /** The service has refused its token, and the authorization server the set: it may still be good for other sites. */
  get isSuspect(): boolean {
    const token = this.#token ?? this.#formerToken;
    return this.isRefused && token !== undefined && !isNewer(token, this.#refusedToken);
  }

  /** There is a token of the present secret. */
  get hasToken(): boolean {
    return this.#token !== undefined;
  }

  /** There is one, be it the former secret's. */
  get hasAnyToken(): boolean {
    return (this.#token ?? this.#formerToken) !== undefined;
  }

  /** The token to attach now, without waiting. A due one starts a refresh that nobody waits for. */
  current(): Token | undefined {
    const { clock, report } = this.#parts;
    const token = this.#live();
    report({ kind: "token_cache_read", tier: "memory", result: token === undefined ? "miss" : "hit" });
    if (token === undefined) return undefined;
    const now = clock.nowMs();
    if (freshness(token, this.#parts.thresholds, now) === "due" && now >= this.#restUntilMs) void this.warm("due");
    return this.#attach(token);
  }

  /** The former secret's token, while it lives and the present secret has none. */
  peekFormer(): Token | undefined {
    const token = this.#token === undefined ? this.#live(this.#formerToken) : undefined;
    return token && this.#attach(token);
  }

  #live(token = this.#token): Token | undefined {
    if (token === undefined) return undefined;
    return freshness(token, this.#parts.thresholds, this.#parts.clock.nowMs()) === "expired" ? undefined : token;
  }

  /** Starts a refresh in the background unless one is running or a pause forbids it. Resolves when it has ended. */
  async warm(reason: "start" | "missing" | "due"): Promise<void> {
    await this.#refresh({ reason, atHand: this.#token });
  }

  /** Takes up the token of a source whose place it takes, and publishes it where it keeps tokens itself. */
  adoptFrom(from: TokenCache): void {
    if (from.#token === undefined) return;
    this.#refusedToken = from.#refusedToken;
    this.#keepAlive.noteUse(from.#keepAlive.usedAtMs);
    const token = { ...from.#token, credential: this.#parts.set.label };
    this.#adopt({ kind: "token", token, issuedHere: false }, "reload");
    this.resync();
  }

  /** Takes over from the source of the set's former secret: its token serves until there is one of the present secret. */
  succeed(from: TokenCache): void {
    const token = from.#token ?? from.#formerToken;
    if (token === undefined || this.#token !== undefined || !isNewer(token, this.#formerToken)) return;
    const { label } = this.#parts.set;
    this.#refusedToken = from.#refusedToken;
    this.#keepAlive.noteUse(Math.max(from.#keepAlive.usedAtMs, this.#keepAlive.usedAtMs));
    this.#formerToken = { ...token, credential: label };
    if (token.credential !== label) this.#reportAdopted(token, false, "reload");
    this.#schedule();
  }

  /** A token that may be attached: the one at hand if it is good, else the next, at most until the moment given (monotonic). */
  async get(untilMs: number): Promise<Obtained> {
    const { clock } = this.#parts;
    for (;;) {
      // Whoever waited for another set may find that this one has come to life meanwhile.
      const atHand = this.#live();
      if (atHand !== undefined && !this.isSuspect) return { token: this.#attach(atHand) };
      const reason = this.#token === undefined ? "missing" : "expired";
      const flight = this.#refresh({ reason, atHand: this.#token });
      const refreshed = await within(clock, flight, untilMs - clock.nowMs());
      if (refreshed === undefined) return "late";
      if (refreshed.kind === "token") {
        const token = this.#adopt(refreshed, reason);
        // Its life was over before it arrived.
        return freshness(token, this.#parts.thresholds, clock.nowMs()) === "expired"
          ? "late"
          : { token: this.#attach(token) };
      }
      if (refreshed.kind === "paused") return { pause: refreshed.pause };
      // That flight was somebody else's, who needed less than a token.
    }
  }

  /**
   * A token newer than the refused one, by one forced refresh if need be. A late 401 for an old token finds the newer
   * one here and evicts nothing.
   */
  async replace(refused: Token, site: string, untilMs: number): Promise<Token | undefined> {
    const { clock } = this.#parts;
    if (isNewer(refused, this.#refusedToken)) this.#refusedToken = refused;
    this.#parts.forcedRefreshes.refused(site, refused);
    while (clock.nowMs() < untilMs) {
      const token = this.#token;
      if (token !== undefined && isNewer(token, refused)) return this.#attach(token);
      if (this.#flight === undefined) return await this.#force(refused, site, untilMs);
      await within(clock, this.#flight, untilMs - clock.nowMs());
    }
    return undefined;
  }

  async #force(refused: Token, site: string, untilMs: number): Promise<Token | undefined> {
    const { clock, environment, set, report } = this.#parts;
    const reason = "unauthorized";
    const refreshed = await within(clock, this.#refresh({ reason, atHand: refused, site }), untilMs - clock.nowMs());
    if (refreshed?.kind === "token") return this.#attach(this.#adopt(refreshed, reason));
    if (refreshed?.kind === "suppressed") {
      // A site's own trouble, as far as anybody knows: the token may be good for the others.
      if (this.#refusedToken?.id === refused.id) this.#refusedToken = undefined;
      report({ kind: "refresh_suppressed", environment, credential: set.label, site, reason: refreshed.reason });
    }
    return undefined;
  }

  /** The service took this token. */
  accepted(token: Token, site: string): void {
    this.#record(this.#parts.forcedRefreshes.accepted(site, token));
  }

  /** The service took this token with the retry of a request that it had refused. */
  cured(token: Token, site: string): void {
    this.#record(this.#parts.forcedRefreshes.recovered(site, token));
  }

  /** The service answered 401 to the retry as well. */
  refusedAgain(token: Token, site: string): void {
    this.#record(this.#parts.forcedRefreshes.refusedAgain(site, token));
  }

  /** Nobody waits for it. */
  #record(event: LimitEvent | undefined): void {
    if (event !== undefined) void this.#parts.store.record(this.#parts.key, event);
  }

  /**
   * The shared store is back: each replica publishes its token within a second, or adopts a newer one; all come together
   * at the next refresh. A token that is no good is not published.
   */
  resync(): void {
    const { clock, random } = this.#parts;
    this.#cancelRejoin();
    this.#cancelRejoin = clock.after(1_000 * random(), () => void this.#publish());
  }

  async #publish(): Promise<void> {
    const own = this.#token;
    if (own === undefined || !isNewer(own, this.#refusedToken)) return;
    const token = await publish(this.#parts, own);
    if (token !== undefined) this.#adopt({ kind: "token", token, issuedHere: false }, "redis_recovered");
  }

  /** A token goes out with a request: that is what keeps it alive. */
  #attach(token: Token): Token {
    const { environment, set, report } = this.#parts;
    this.#keepAlive.noteUse();
    report({ kind: "token_used", environment, credential: set.label });
    return token;
  }

  /** Stops the timers. Resolves when a running flight has ended by itself. */
  async close(): Promise<void> {
    this.#keepAlive.close();
    this.#cancelRejoin();
    await this.#flight;
  }

  #refresh(need: Need): Promise<Refreshed> {
    if (this.#flight !== undefined) return this.#flight;
    const obstacle = obstacleTo(this.#parts, need);
    const hasJustLooked = this.#parts.clock.nowMs() < this.#lookedAtMs + lookAgainMs;
    if (obstacle !== undefined && hasJustLooked) return Promise.resolve(obstacle);
    this.#flight = this.#fly(need);
    return this.#flight;
  }

  async #fly(need: Need): Promise<Refreshed> {
    const { clock, random } = this.#parts;
    const refreshed = await refresh(this.#parts, need).catch((error) => this.#fail(error));
    this.#flight = undefined;
    this.#lookedAtMs = clock.nowMs();
    if (refreshed.kind === "token" && this.#adopt(refreshed, need.reason) !== refreshed.token) {
      this.#schedule(this.#lookedAtMs + lookAgainMs);
    }
    if (refreshed.kind === "paused") this.#schedule(refreshed.pause.untilMs);
    if (refreshed.kind === "suppressed") this.#schedule(this.#lookedAtMs + lookAgainMs);
    if (refreshed.kind === "left_to_another") {
      this.#restUntilMs = this.#lookedAtMs + 1_000 + 2_000 * random();
      this.#schedule(this.#restUntilMs);
    }
    return refreshed;
  }

  /** The ports never throw; should one do so all the same, that is a failed refresh and nothing worse. */
  #fail(error: unknown): Refreshed {
    this.#parts.report({ kind: "defect", where: "refresh", error: describeDefect(error) });
    return { kind: "paused", pause: this.#parts.conduct.onAnswer({ kind: "failed", status: undefined }) };
  }

  /**
   * The newest token wins: a flight that ends late never puts an older token back. An authorization server may give the same token
   * out again while it lives; then its life is what the last answer says.
   */
  #adopt({ token, issuedHere }: Extract<Refreshed, { kind: "token" }>, reason: Need["reason"]): Token {
    const isRepeated = issuedHere && token.id === this.#token?.id && token.issuedAtMs > this.#token.issuedAtMs;
    if (this.#token !== undefined && !isRepeated && !isNewer(token, this.#token)) return this.#token;
    this.#token = token;
    this.#formerToken = undefined;
    this.#reportAdopted(token, issuedHere, reason);
    this.#schedule();
    return token;
  }

  #reportAdopted({ issuedAtMs, lifetimeMs }: Token, issuedHere: boolean, reason: Need["reason"]): void {
    const { clock, environment, set, report } = this.#parts;
    const remainingMs = issuedAtMs + lifetimeMs - clock.nowMs();
    const told = { issuedHere, reason, lifetimeMs, remainingMs };
    report({ kind: "token_adopted", environment, credential: set.label, ...told });
  }

  /** Rings no more for a token that is not there. */
  #schedule(notBeforeMs?: number): void {
    const token = this.#token ?? this.#formerToken;
    if (token !== undefined) this.#keepAlive.schedule(token, notBeforeMs);
  }

  #lapse(): void {
    const { environment, set, report } = this.#parts;
    this.#token = undefined;
    this.#formerToken = undefined;
    report({ kind: "token_lapsed", environment, credential: set.label });
  }
}
