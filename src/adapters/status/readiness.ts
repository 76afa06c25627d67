import type { Environment } from "../../environment.ts";
import type { Event } from "../../events.ts";

/** What `/readyz` says. */
export interface ReadinessView {
  readonly isReady: boolean;
  /** Whether a first token is all that is missing. */
  readonly awaitsToken: boolean;
  readonly reason: string;
}

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
 * not fall back when tokens end: an outage of the login host must not take every application out. Only draining ends it.
 */
export class Readiness {
  #awaited: readonly Awaited[];
  #isListening = false;
  #isDraining = false;

  /** @param environments those whose tokens are waited for; none with `readiness: listening` */
  constructor(environments: readonly Environment[]) {
    this.#awaited = environments.flatMap(awaitedOf);
  }

  readonly report = (event: Event): void => {
    switch (event.kind) {
      case "started":
        this.#isListening = true;
        return;
      case "draining":
        this.#isDraining = true;
        return;
      case "token_adopted":
        this.#awaited = this.#awaited.filter(
          ({ environment, credentials }) =>
            environment !== event.environment || !credentials.includes(event.credential),
        );
        return;
      default:
        return;
    }
  };

  view(): ReadinessView {
    if (this.#isDraining) return { isReady: false, awaitsToken: false, reason: "draining" };
    if (!this.#isListening) return { isReady: false, awaitsToken: false, reason: "starting" };
    const [first] = this.#awaited;
    if (first === undefined) return { isReady: true, awaitsToken: false, reason: "ok" };
    return { isReady: false, awaitsToken: true, reason: `no token yet for ${first.environment}: ${first.owner}` };
  }
}

function awaitedOf(environment: Environment): Awaited[] {
  const credentials = defaultSiteOf(environment)?.credentials;
  if (credentials === undefined) return [];
  const { owner, sets } = credentials;
  return [{ environment: environment.name, owner, credentials: sets.map(({ label }) => label) }];
}

function defaultSiteOf({ defaultSite, sites }: Environment) {
  if (defaultSite !== undefined) return sites.get(defaultSite);
  const [only, ...others] = sites.values();
  return others.length === 0 ? only : undefined;
}
