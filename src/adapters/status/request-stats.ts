import type { Clock } from "../../model/clock.ts";
import type { Address, Environment, Site } from "../../model/environment.ts";
import type { RequestAccepted, RequestFinished } from "../../model/events.ts";
import { Answers } from "./answers.ts";
import { Counters } from "./counters.ts";
import { formatTime } from "./format-time.ts";
import type { BoardView, CredentialStatus, EnvironmentStatus, SiteStatus, UnknownOutcome } from "./snapshot.ts";
import { findTokenOutage } from "./token-outage.ts";

const keptUnknown = 100;

/** What became of requests: in all, by environment and site, and the last whose outcome is unknown. */
export class RequestStats {
  readonly #clock: Clock;
  readonly #tallies = new Counters();
  #answers = new Map<string, Answers>();
  #environments: readonly Environment[] = [];
  /** Kept whatever is configured later: an order may exist in an environment that has gone. */
  readonly #unknown: UnknownOutcome[] = [];
  #unknownCount = 0;
  #inFlight = 0;
  readonly #answeredBy = { service: 0, countersign: 0 };
  readonly #failures = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param environments while a configuration is prepared, an environment comes as it is and as it may be */
  follow(environments: readonly Environment[]): void {
    this.#environments = [...new Map(environments.map((environment) => [environment.name, environment])).values()];
    this.#tallies.follow(environments);
    this.#answers = new Map(environments.map(({ name }) => [name, this.#answers.get(name) ?? new Answers()]));
  }

  note(event: RequestAccepted | RequestFinished): void {
    if (event.kind === "request_accepted") this.#inFlight += 1;
    else this.#noteFinish(event);
  }

  /** @param credentials how each set stands, of all environments */
  view(credentials: readonly CredentialStatus[]): Pick<BoardView, "requests" | "unknownOutcomes" | "environments"> {
    return {
      requests: {
        inFlight: this.#inFlight,
        answeredBy: { ...this.#answeredBy },
        unknownOutcomes: this.#unknownCount,
        failures: Object.fromEntries(this.#failures),
      },
      unknownOutcomes: this.#unknown.toReversed(),
      environments: this.#environments.map((environment) =>
        this.#viewEnvironment(
          environment,
          credentials.filter((each) => each.environment === environment.name),
        ),
      ),
    };
  }

  #noteFinish(event: RequestFinished): void {
    const wallMs = this.#clock.wallMs();
    if (event.admitted) this.#inFlight -= 1;
    this.#answeredBy[event.by] += 1;
    if (event.code !== undefined) this.#failures.set(event.code, (this.#failures.get(event.code) ?? 0) + 1);
    this.#tallies.add(event, wallMs);
    this.#answers.get(event.environment)?.add(event, this.#clock.nowMs());
    if (event.outcome !== "unknown") return;
    const { environment, site, operation, reference, requestId, code, stage, by } = event;
    const status = by === "service" && code === undefined ? event.status : undefined;
    this.#unknownCount += 1;
    const at = formatTime(wallMs);
    this.#unknown.push({ at, environment, site, operation, reference, requestId, code, status, stage });
    if (this.#unknown.length > keptUnknown) this.#unknown.shift();
  }

  #viewEnvironment(
    { name, baseUrl, authUrl, operations, defaultSite, sites: configured }: Environment,
    credentials: readonly CredentialStatus[],
  ): EnvironmentStatus {
    const answers = this.#answers.get(name) ?? new Answers();
    const sites = [...configured.values()].map((site) => this.#viewSite(name, site));
    return {
      name,
      baseUrl: urlOf(baseUrl),
      authUrl: authUrl && urlOf(authUrl),
      operations: operations === "any" ? ["*"] : [...operations],
      defaultSite,
      sites,
      answers: answers.total(),
      recent: answers.recent(this.#clock.nowMs()),
      tokenOutage: findTokenOutage(sites, credentials),
      withoutSite: this.#tallies.of(name, undefined),
    };
  }

  #viewSite(environment: string, { identifier, parent, auth, credentials }: Site): SiteStatus {
    const labels = credentials?.sets.map(({ label }) => label) ?? [];
    return { identifier, parent, auth, credentials: labels, tally: this.#tallies.of(environment, identifier) };
  }
}

function urlOf({ origin, path }: Address): string {
  return `${origin}${path}`;
}
