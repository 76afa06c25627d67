import type { Clock } from "../../model/clock.ts";
import type { Address, Environment } from "../../model/environment.ts";
import type { RequestFinished } from "../../model/events.ts";
import { AnswerCounters } from "./answer-counters.ts";
import { SiteCounters } from "./site-counters.ts";
import {
  type CredentialStatus,
  type EnvironmentStatus,
  formatTime,
  type ModelView,
  type UnknownOutcome,
} from "./snapshot.ts";
import { findTokenOutage } from "./token-stats.ts";

const keptUnknown = 100;

/** What became of requests: in all, by environment and site, and the last whose outcome is unknown. */
export class RequestStats {
  readonly #clock: Clock;
  readonly #sites = new SiteCounters();
  #answers = new Map<string, AnswerCounters>();
  /** Kept whatever is configured later: an order may exist in an environment that has gone. */
  readonly #unknown: UnknownOutcome[] = [];
  #unknownCount = 0;
  readonly #answeredBy = { service: 0, countersign: 0 };
  readonly #failures = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Forgets the counts of environments and sites that are not configured. */
  keepOnly(environments: readonly Environment[]): void {
    this.#sites.keepOnly(environments);
    const names = new Set(environments.map(({ name }) => name));
    this.#answers = new Map([...this.#answers].filter(([name]) => names.has(name)));
  }

  report(event: RequestFinished): void {
    const { environment, site, operation, reference, requestId, code, stage, by } = event;
    const wallMs = this.#clock.wallMs();
    this.#answeredBy[by] += 1;
    if (code !== undefined) this.#failures.set(code, (this.#failures.get(code) ?? 0) + 1);
    this.#sites.add(event, wallMs);
    const answers = this.#answers.get(environment) ?? new AnswerCounters();
    this.#answers.set(environment, answers);
    answers.add(event, this.#clock.nowMs());
    if (event.outcome !== "unknown") return;
    const status = by === "service" && code === undefined ? event.status : undefined;
    this.#unknownCount += 1;
    const at = formatTime(wallMs);
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
        failures: Object.fromEntries(this.#failures),
      },
      unknownOutcomes: this.#unknown.toReversed(),
      environments: environments.map((environment) => {
        const own = credentials.filter((each) => each.environment === environment.name);
        return this.#viewEnvironment(environment, own);
      }),
    };
  }

  #viewEnvironment(
    { name, baseUrl, authUrl, operations, defaultSite, sites: configured }: Environment,
    sets: readonly CredentialStatus[],
  ): EnvironmentStatus {
    const answers = this.#answers.get(name) ?? new AnswerCounters();
    const sites = [...configured.values()].map(({ identifier, parent, auth, credentials }) => {
      const labels = credentials?.sets.map(({ label }) => label) ?? [];
      return { identifier, parent, auth, credentials: labels, tally: this.#sites.of(name, identifier) };
    });
    return {
      name,
      baseUrl: urlOf(baseUrl),
      authUrl: authUrl && urlOf(authUrl),
      operations: operations === "any" ? ["*"] : [...operations],
      defaultSite,
      sites,
      answers: answers.total(),
      recent: answers.recent(this.#clock.nowMs()),
      tokenOutage: findTokenOutage(sites, sets),
      withoutSite: this.#sites.of(name),
    };
  }
}

function urlOf({ origin, path }: Address): string {
  return `${origin}${path}`;
}
