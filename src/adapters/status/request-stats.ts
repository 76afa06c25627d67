import type { Clock } from "../../model/clock.ts";
import { type Address, credentialSetsOf, type Environment } from "../../model/environment.ts";
import type { RequestFinished } from "../../model/events.ts";
import { AnswerCounters } from "./answer-counters.ts";
import {
  type CredentialStatus,
  type EnvironmentStatus,
  formatTime,
  type ModelView,
  type Occurrence,
  type Tally,
  type UnknownOutcome,
} from "./snapshot.ts";
import { findTokenOutage } from "./token-stats.ts";

const keptUnknown = 100;

const noRequest: Tally = { answeredBy: { service: 0, countersign: 0 }, lastAt: undefined, failures: {}, refusals: {} };

/** How requests ended: in all, by environment and site, and the last whose outcome is unknown. */
export class RequestStats {
  readonly #clock: Clock;
  /** By environment. */
  #answers = new Map<string, AnswerCounters>();
  /** By environment and site; an environment's own are of requests whose site was never known. */
  #tallies = new Map<string, Tally>();
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
    const keys = environments.flatMap(({ name, sites }) => [
      name,
      ...[...sites.keys()].map((site) => keyOf(name, site)),
    ]);
    const wanted = new Set(keys);
    this.#answers = new Map([...this.#answers].filter(([name]) => wanted.has(name)));
    this.#tallies = new Map([...this.#tallies].filter(([key]) => wanted.has(key)));
  }

  report(event: RequestFinished): void {
    const { environment, site, code, by, outcome } = event;
    const at = formatTime(this.#clock.wallMs());
    this.#answeredBy[by] += 1;
    if (code !== undefined) this.#failures[code] = (this.#failures[code] ?? 0) + 1;
    this.#tallies.set(keyOf(environment, site), add(event, this.#tallyOf(environment, site), at));
    const answers = this.#answers.get(environment) ?? new AnswerCounters();
    this.#answers.set(environment, answers);
    answers.add(event, this.#clock.nowMs());
    if (outcome === "unknown") this.#keepUnknown(event, at);
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
    const answers = this.#answers.get(name) ?? new AnswerCounters();
    const sites = [...configured.values()].map(({ identifier, parent, auth, credentials }) => {
      const labels = credentials?.sets.map(({ label }) => label) ?? [];
      return { identifier, parent, auth, credentials: labels, tally: this.#tallyOf(name, identifier) };
    });
    return {
      name,
      baseUrl: urlOf(baseUrl),
      authUrl: authUrl && urlOf(authUrl),
      tokenUrls: ownTokenUrls(environment),
      operations: operations === "any" ? ["*"] : [...operations],
      defaultSite,
      sites,
      answers: answers.total(),
      recent: answers.recent(this.#clock.nowMs()),
      tokenOutage: findTokenOutage(sites, sets),
      withoutSite: this.#tallyOf(name),
    };
  }

  #tallyOf(environment: string, site?: string): Tally {
    return this.#tallies.get(keyOf(environment, site)) ?? noRequest;
  }
}

function add({ by, code, status }: RequestFinished, { answeredBy, failures, refusals }: Tally, at: string): Tally {
  const isRefusal = by === "service" && (status === 401 || status === 403);
  return {
    answeredBy: { ...answeredBy, [by]: answeredBy[by] + 1 },
    lastAt: at,
    failures: code === undefined ? failures : addOne(failures, code, at),
    refusals: isRefusal ? addOne(refusals, String(status), at) : refusals,
  };
}

function addOne(occurrences: Tally["failures"], what: string, lastAt: string): Record<string, Occurrence> {
  return { ...occurrences, [what]: { count: (occurrences[what]?.count ?? 0) + 1, lastAt } };
}

function keyOf(environment: string, site?: string): string {
  return site === undefined ? environment : `${environment} ${site}`;
}

function ownTokenUrls(environment: Environment): string[] | undefined {
  const urls = credentialSetsOf(environment).flatMap(({ set }) => (set.token?.url ? [urlOf(set.token.url)] : []));
  return urls.length === 0 ? undefined : [...new Set(urls)];
}

function urlOf({ origin, path }: Address): string {
  return `${origin}${path}`;
}
