import type { Clock } from "../../model/clock.ts";
import { credentialKey } from "../../model/credential-snapshot.ts";
import type { Environment } from "../../model/environment.ts";
import type { Event } from "../../model/events.ts";

const refusedForLong = "the newest configuration is refused; the one before it stays active";

/**
 * Green once listening, or, with `readiness: token`, once every default site's credential set has had a token. It does
 * not fall back when tokens end or the configuration changes: an outage of the authorization server must not take every
 * application out. Draining ends it, and a newest configuration that stays refused, where `reload.unreadyAfterRefusal` asks for that.
 */
export class Readiness {
  readonly #clock: Clock;
  #awaited: readonly Environment[] = [];
  #unreadyAfterRefusalMs = Number.POSITIVE_INFINITY;
  /** When the newest configuration was refused for the first time since one was active. */
  #refusedAtMs: number | undefined;
  #isListening = false;
  #wasReady = false;
  #isDraining = false;
  /** Sets that have had a token, which may have lapsed since. */
  readonly #served = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits for what is configured from now on, unless it was ready already.
   * @param environments those whose tokens are waited for; none with `readiness: listening`
   * @param unreadyAfterRefusalMs how long the newest configuration may stay refused; for ever where it is undefined
   */
  follow(environments: readonly Environment[], unreadyAfterRefusalMs = Number.POSITIVE_INFINITY): void {
    this.#unreadyAfterRefusalMs = unreadyAfterRefusalMs;
    this.#findMissing();
    this.#awaited = environments;
  }

  readonly report = (event: Event): void => {
    switch (event.kind) {
      case "started":
        this.#isListening = true;
        return;
      case "token_adopted":
        this.#served.add(credentialKey(event));
        return;
      case "draining":
        this.#isDraining = true;
        return;
      case "config_refused":
        this.#refusedAtMs ??= this.#clock.nowMs();
        return;
      case "config_applied":
      case "config_unchanged":
        this.#refusedAtMs = undefined;
        return;
      default:
        return;
    }
  };

  /** What `/readyz` says, and whether a first token is all that is missing. */
  view(): { readonly isReady: boolean; readonly awaitsToken: boolean; readonly reason: string } {
    const notReady = { isReady: false, awaitsToken: false };
    if (this.#isDraining) return { ...notReady, reason: "draining" };
    if (!this.#isListening) return { ...notReady, reason: "starting" };
    if (this.#isRefusedForLong()) return { ...notReady, reason: refusedForLong };
    const missing = this.#findMissing();
    if (missing === undefined) return { isReady: true, awaitsToken: false, reason: "ok" };
    return { isReady: false, awaitsToken: true, reason: `no token yet for ${missing}` };
  }

  #isRefusedForLong(): boolean {
    if (this.#refusedAtMs === undefined) return false;
    return this.#clock.nowMs() - this.#refusedAtMs >= this.#unreadyAfterRefusalMs;
  }

  /** The first default site whose sets have had no token yet; undefined for good once each has had one. */
  #findMissing(): string | undefined {
    if (this.#wasReady || !this.#isListening) return undefined;
    for (const { name, defaultSite, sites } of this.#awaited) {
      const credentials = sites.get(defaultSite ?? "")?.credentials;
      // One of its sets is enough.
      const hasToken =
        credentials?.sets.some(({ label }) =>
          this.#served.has(credentialKey({ environment: name, credential: label })),
        ) ?? true;
      if (!hasToken) return `${name}: ${credentials?.owner}`;
    }
    this.#wasReady = true;
    return undefined;
  }
}
