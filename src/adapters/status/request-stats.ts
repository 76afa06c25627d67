import type { Clock } from "../../model/clock.ts";
import { type Address, credentialSetsOf, type Environment } from "../../model/environment.ts";
import type { RequestFinished } from "../../model/events.ts";
import { AnswerCounters, countersOf, RequestCounters } from "./counters.ts";
import {
  type CredentialStatus,
  type EnvironmentStatus,
  formatTime,
  type ModelView,
  type Tally,
  type UnknownOutcome,
} from "./snapshot.ts";
import { findTokenOutage } from "./token-stats.ts";

const keptUnknown = 100;

/** How requests ended: in all, by environment and site, and the last whose outcome is unknown. */
export class RequestStats {
  readonly #clock: Clock;
  readonly #environments = new Map<string, EnvironmentStats>();
  readonly #answeredBy = { service: 0, countersign: 0 };
  readonly #failures: Record<string, number> = {};
  /** Kept whatever is configured later: an order may exist in an environment that is no longer configured. */
  readonly #unknown: UnknownOutcome[] = [];
  #unknownCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Forgets the counts of environments and sites that are not configured. */
  keepOnly(environments: readonly Environment[]): void {
    const wanted = new Map(environments.map(({ name, sites }) => [name, sites]));
    for (const [name, stats] of this.#environments) {
      const sites = wanted.get(name);
      if (sites === undefined) this.#environments.delete(name);
      else stats.keepOnly(sites);
    }
  }

  report(event: RequestFinished): void {
    const { environment, code, by, outcome } = event;
    const wallMs = this.#clock.wallMs();
    this.#answeredBy[by] += 1;
    if (code !== undefined) this.#failures[code] = (this.#failures[code] ?? 0) + 1;
    countersOf(this.#environments, environment, EnvironmentStats).add(event, wallMs, this.#clock.nowMs());
    if (outcome === "unknown") this.#keepUnknown(event, formatTime(wallMs));
  }

  #keepUnknown(event: RequestFinished, at: string): void {
    const { environment, site, operation, reference, requestId, code, stage, by } = event;
    const status = by === "service" && code === undefined ? event.status : undefined;
    this.#unknownCount += 1;
    this.#unknown.push({ at, environment, site, operation, reference, requestId, code, status, stage });
    if (this.#unknown.length > keptUnknown) this.#unknown.shift();
  }

  /**
   * @param environments those of the active configuration
   * @param credentials the sets of all environments
   * @param inFlight requests being served
   */
  view(
    environments: readonly Environment[],
    credentials: readonly CredentialStatus[],
    inFlight: number,
  ): Pick<ModelView, "requests" | "unknownOutcomes" | "environments"> {
    return {
      requests: {
        inFlight,
        answeredBy: { ...this.#answeredBy },
        unknownOutcomes: this.#unknownCount,
        failures: { ...this.#failures },
      },
      unknownOutcomes: this.#unknown.toReversed(),
      environments: environments.map((environment) => {
        const own = credentials.filter((each) => each.environment === environment.name);
        return this.#viewEnvironment(environment, own);
      }),
    };
  }

  #viewEnvironment(environment: Environment, sets: readonly CredentialStatus[]): EnvironmentStatus {
    const { name, baseUrl, authUrl, operations, defaultSite, sites: configured } = environment;
    const stats = this.#environments.get(name) ?? new EnvironmentStats();
    const sites = [...configured.values()].map(({ identifier, parent, auth, credentials }) => {
      const labels = credentials?.sets.map(({ label }) => label) ?? [];
      return { identifier, parent, auth, credentials: labels, tally: stats.tally(identifier) };
    });
    return {
      name,
      baseUrl: urlOf(baseUrl),
      authUrl: authUrl && urlOf(authUrl),
      tokenUrls: ownTokenUrls(environment),
      operations: operations === "any" ? ["*"] : [...operations],
      defaultSite,
      sites,
      answers: stats.answers.total(),
      recent: stats.answers.recent(this.#clock.nowMs()),
      tokenOutage: findTokenOutage(sites, sets),
      withoutSite: stats.tally(undefined),
    };
  }
}

function ownTokenUrls(environment: Environment): string[] | undefined {
  const urls = credentialSetsOf(environment).flatMap(({ set }) => (set.token?.url ? [urlOf(set.token.url)] : []));
  return urls.length === 0 ? undefined : [...new Set(urls)];
}

function urlOf({ origin, path }: Address): string {
  return `${origin}${path}`;
}

/** The requests of one environment. */
class EnvironmentStats {
  readonly answers = new AnswerCounters();
  /** Undefined stands for requests whose site was never known. */
  readonly #sites = new Map<string | undefined, RequestCounters>();

  add(event: RequestFinished, wallMs: number, nowMs: number): void {
    countersOf(this.#sites, event.site, RequestCounters).add(event, wallMs);
    this.answers.add(event, nowMs);
  }

  keepOnly(sites: Environment["sites"]): void {
    for (const site of this.#sites.keys()) if (site !== undefined && !sites.has(site)) this.#sites.delete(site);
  }

  tally(site: string | undefined): Tally {
    return (this.#sites.get(site) ?? new RequestCounters()).view();
  }
}
