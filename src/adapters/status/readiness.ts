import type { Environment } from "../../environment.ts";
import type { Event } from "../../events.ts";

/** What `/readyz` says. */
export interface ReadinessView {
  readonly isReady: boolean;
  readonly reason: string;
}

/**
 * Green once listening, or, with `readiness: token`, once every default site's credential set has had a token. It does
 * not fall back when tokens end: an outage of the login host must not take every application out. Only draining ends it.
 */
export class Readiness {
  /** Owners of sets still without a token. */
  readonly #awaited = new Map<string, Set<string>>();
  #isListening = false;
  #isDraining = false;

  /** @param environments those whose tokens are waited for; none with `readiness: listening` */
  constructor(environments: Iterable<Environment>) {
    for (const environment of environments) {
      const credentials = defaultSiteOf(environment)?.credentials;
      if (credentials !== undefined) {
        this.#awaited.set(
          `${environment.name}: ${credentials.owner}`,
          new Set(credentials.sets.map(({ label }) => label)),
        );
      }
    }
  }

  readonly report = (event: Event): void => {
    if (event.kind === "started") this.#isListening = true;
    if (event.kind === "draining") this.#isDraining = true;
    if (event.kind !== "token_adopted") return;
    for (const [owner, labels] of this.#awaited) {
      if (owner.startsWith(`${event.environment}: `) && labels.has(event.credential)) this.#awaited.delete(owner);
    }
  };

  view(): ReadinessView {
    if (this.#isDraining) return { isReady: false, reason: "draining" };
    if (!this.#isListening) return { isReady: false, reason: "starting" };
    const [owner] = this.#awaited.keys();
    return owner === undefined
      ? { isReady: true, reason: "ok" }
      : { isReady: false, reason: `no token yet for ${owner}` };
  }
}

function defaultSiteOf({ defaultSite, sites }: Environment) {
  if (defaultSite !== undefined) return sites.get(defaultSite);
  const [only, ...others] = sites.values();
  return others.length === 0 ? only : undefined;
}
