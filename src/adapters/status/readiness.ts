import type { Clock } from "../../model/clock.ts";
import type { Environment } from "../../model/environment.ts";
import type { Event } from "../../model/events.ts";

/** What `/readyz` says. */
export interface ReadinessView {
  readonly isReady: boolean;
  /** Whether a first token is all that is missing. */
  readonly awaitsToken: boolean;
  readonly reason: string;
}

const refusedForLong = "the newest configuration is refused; the one before it stays in force";

/** The sets of a default site, none of which has had a token yet. */
interface Awaited {
  readonly environment: string;
  /** The S… at which they are configured. */
  readonly owner: string;
  /** One of them is enough. */
  readonly credentials: readonly string[];
}

/**
 * Green once listening, or, with `readiness: token`, once every default site's credential set has had a token. It does
 * not fall back when tokens end or the configuration changes: an outage of the authorization server must not take every
 * application out. Draining ends it, and a newest configuration that stays refused, where `reload.unreadyAfterRefusal` asks for that.
 */
export class Readiness {
  readonly #clock: Clock;
  #awaited: readonly Awaited[] = [];
  #unreadyAfterRefusalMs = Number.POSITIVE_INFINITY;
  /** When the newest configuration was refused for the first time since one was in force. */
  #refusedAtMs: number | undefined;
  #isListening = false;
  #wasReady = false;
  #isDraining = false;
  /** Sets that have had a token, until it was ready. */
  readonly #served = new Set<string>();

  /** @param environments those whose tokens are waited for; none with `readiness: listening` */
  constructor(environments: readonly Environment[], clock: Clock) {
    this.#clock = clock;
    this.follow(environments);
  }

  /**
   * Waits for what is configured from now on, unless it was ready already.
   * @param unreadyAfterRefusalMs how long the newest configuration may stay refused; for ever where it is undefined
   */
  follow(environments: readonly Environment[], unreadyAfterRefusalMs = Number.POSITIVE_INFINITY): void {
    this.#unreadyAfterRefusalMs = unreadyAfterRefusalMs;
    this.#awaited = environments.flatMap(awaitedOf);
    this.#look();
  }

  readonly report = (event: Event): void => {
    switch (event.kind) {
      case "started":
        this.#isListening = true;
        this.#look();
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
      case "token_adopted":
        if (this.#wasReady) return;
        this.#served.add(keyOf(event.environment, event.credential));
        this.#look();
        return;
      default:
        return;
    }
  };

  view(): ReadinessView {
    if (this.#isDraining) return { isReady: false, awaitsToken: false, reason: "draining" };
    if (!this.#isListening) return { isReady: false, awaitsToken: false, reason: "starting" };
    if (this.#isRefusedForLong()) return { isReady: false, awaitsToken: false, reason: refusedForLong };
    const [first] = this.#awaited;
    if (this.#wasReady || first === undefined) return { isReady: true, awaitsToken: false, reason: "ok" };
    return { isReady: false, awaitsToken: true, reason: `no token yet for ${first.environment}: ${first.owner}` };
  }

  #isRefusedForLong(): boolean {
    if (this.#refusedAtMs === undefined) return false;
    return this.#clock.nowMs() - this.#refusedAtMs >= this.#unreadyAfterRefusalMs;
  }

  #look(): void {
    this.#awaited = this.#awaited.filter(
      ({ environment, credentials }) => !credentials.some((label) => this.#served.has(keyOf(environment, label))),
    );
    if (this.#isListening && this.#awaited.length === 0) this.#wasReady = true;
  }
}

function awaitedOf(environment: Environment): Awaited[] {
  const credentials = defaultSiteOf(environment)?.credentials;
  if (credentials === undefined) return [];
  const { owner, sets } = credentials;
  return [{ environment: environment.name, owner, credentials: sets.map(({ label }) => label) }];
}

function keyOf(environment: string, label: string): string {
  return `${environment} ${label}`;
}

function defaultSiteOf({ defaultSite, sites }: Environment) {
  if (defaultSite !== undefined) return sites.get(defaultSite);
  const [only, ...others] = sites.values();
  return others.length === 0 ? only : undefined;
}
