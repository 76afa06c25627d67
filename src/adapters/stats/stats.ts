import { type Clock, createWallTime, type WallTime } from "../../model/clock.ts";
import { type Address, credentialSetsOf, type Environment } from "../../model/environment.ts";
import { type Event, hasUnknownEffect, type Report, type RequestFinished } from "../../model/events.ts";
import type { Caller } from "../../model/listener.ts";
import { type CallbackPlace, CallbackStats } from "./callback-stats.ts";
import { createCounting } from "./counting.ts";
import type { GaugeSource } from "./gauges.ts";
import type { Metrics } from "./metrics.ts";
import { RecentRequests } from "./recent-requests.ts";
import { ReloadStats } from "./reload.ts";
import {
  type AnswerCounts,
  type CallerStatus,
  type CredentialStatus,
  type EnvironmentStatus,
  formatTime,
  type ModelView,
  type RequestTotals,
  type UnknownOutcome,
} from "./snapshot.ts";
import { countBy, groupBy, keptOf, sumOf, tally } from "./sums.ts";
import { findTokenOutage, TokenStats } from "./token-stats.ts";

/** A caller where the active configuration has it. */
export interface ConfiguredCaller extends Caller {
  readonly environment: string;
  /** As configured. */
  readonly listener: string;
}

/** What `/status` asks for when it is looked at, beside what gauges ask for too. */
export interface StatusSource extends Pick<GaugeSource, "environments" | "inFlight" | "credentials" | "redis"> {
  /** Where each listener leads, one line each. */
  routes(): readonly string[];
  callbacks(): readonly CallbackPlace[];
  /** Those that have names, in the configuration's order. */
  callers(): readonly ConfiguredCaller[];
}

const keptUnknown = 100;

/** Counts events in metrics, keeps the last of what an operator asks for, and shows both as `/status` has them. */
export class Stats {
  readonly reload: ReloadStats;
  readonly #source: StatusSource;
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  readonly #wallTime: WallTime;
  readonly #count: Report;
  readonly #tokens: TokenStats;
  readonly #callbacks: CallbackStats;
  readonly #recent = new Map<string, RecentRequests>();
  /** Kept whatever is configured later: an order may exist in an environment that is no longer configured. */
  readonly #unknown: UnknownOutcome[] = [];

  constructor(source: StatusSource, metrics: Metrics, clock: Clock) {
    this.#source = source;
    this.#metrics = metrics;
    this.#clock = clock;
    this.#wallTime = createWallTime(clock);
    this.#count = createCounting(metrics, (environment) => this.#recentOf(environment), clock);
    this.#tokens = new TokenStats(metrics.tokenRequests, clock);
    this.#callbacks = new CallbackStats(metrics, clock);
    this.reload = new ReloadStats(clock);
  }

  /** `/status` forgets sites, callers, sets and listeners for callbacks that are not configured. Metrics forget nothing. */
  forgetOthers(): void {
    const { requests, answers, callerRequests } = this.#metrics;
    const environments = this.#source.environments();
    const sites = new Map(environments.map((environment) => [environment.name, environment.sites]));
    requests.keepOnly(({ environment, site }) =>
      site === "none" ? sites.has(environment) : sites.get(environment)?.has(site) === true,
    );
    answers.keepOnly(({ environment }) => sites.has(environment));
    for (const [environment, recent] of this.#recent) if (!sites.has(environment)) recent.clear();
    const callers = new Set(this.#source.callers().map(({ listener, name }) => callerKey({ listener, caller: name })));
    callerRequests.keepOnly((labels) => callers.has(callerKey(labels)));
    this.#tokens.keepOnly(environments);
    this.#callbacks.follow(this.#source.callbacks());
  }

  readonly report = (event: Event): void => {
    this.#count(event);
    switch (event.kind) {
      case "request_finished":
        if (hasUnknownEffect(event)) this.#keepUnknown(event);
        return;
      case "callback_finished":
        this.#callbacks.report(event);
        return;
      case "token_adopted":
      case "token_requested":
        this.#tokens.report(event);
        return;
      default:
        this.reload.report(event);
    }
  };

  view(): ModelView {
    const { credentials, redis, routes } = this.#source;
    const sets = this.#tokens.view(credentials(), this.#wallTime);
    const callers = this.#viewCallers();
    return {
      requests: this.#viewTotals(),
      unknownOutcomes: this.#unknown.toReversed(),
      environments: this.#viewEnvironments(sets),
      callbacks: this.#callbacks.view(),
      ...(callers.length === 0 ? {} : { callers }),
      credentials: sets,
      redis: redis().map(({ sinceMs, ...server }) => {
        return { ...server, since: sinceMs === undefined ? undefined : formatTime(this.#wallTime(sinceMs)) };
      }),
      reload: this.reload.view(routes()),
    };
  }

  #recentOf(environment: string): RecentRequests {
    const recent = this.#recent.get(environment) ?? new RecentRequests();
    this.#recent.set(environment, recent);
    return recent;
  }

  #keepUnknown(event: RequestFinished): void {
    const { environment, site, operation, caller, reference, requestId, code, stage, by } = event;
    const at = formatTime(this.#clock.wallMs());
    const status = by === "service" && code === undefined ? event.status : undefined;
    this.#unknown.push({ at, environment, site, operation, caller, reference, requestId, code, status, stage });
    if (this.#unknown.length > keptUnknown) this.#unknown.shift();
  }

  #viewTotals(): RequestTotals {
    const { answers, failures, unknownOutcomes } = this.#metrics;
    const countOf = ({ count }: { readonly count: number }) => count;
    return {
      inFlight: sumOf([...this.#source.inFlight().values()], (open) => open),
      answeredBy: { service: 0, countersign: 0, ...countBy(answers.counted(), ({ labels }) => labels.by, countOf) },
      unknownOutcomes: sumOf(unknownOutcomes.counted(), countOf),
      failures: countBy(failures.counted(), ({ labels }) => labels.code, countOf),
    };
  }

  /** @param credentials the sets of all environments */
  #viewEnvironments(credentials: readonly CredentialStatus[]): EnvironmentStatus[] {
    const endsOf = groupBy(this.#metrics.requests.kept(), ({ labels }) => siteKey(labels));
    const tallyOf = (environment: string, site: string) => tally(endsOf.get(siteKey({ environment, site })) ?? []);
    return this.#source.environments().map((environment) => {
      const { name, baseUrl, authUrl, operations, defaultSite } = environment;
      const sites = [...environment.sites.values()].map(({ identifier, parent, auth, credentials }) => {
        const labels = credentials?.sets.map(({ label }) => label) ?? [];
        return { identifier, parent, auth, credentials: labels, tally: tallyOf(name, identifier) };
      });
      const sets = credentials.filter((each) => each.environment === name);
      return {
        name,
        baseUrl: urlOf(baseUrl),
        authUrl: authUrl && urlOf(authUrl),
        tokenUrls: ownTokenUrls(environment),
        operations: operations === "any" ? ["*"] : [...operations],
        defaultSite,
        sites,
        answers: this.#viewAnswers(name),
        recent: this.#recentOf(name).view(this.#clock.nowMs()),
        tokenOutage: findTokenOutage(sites, sets),
        withoutSite: tallyOf(name, "none"),
      };
    });
  }

  #viewAnswers(environment: string): AnswerCounts {
    const own = this.#metrics.answers.kept().filter(({ labels }) => labels.environment === environment);
    const of = (by: string) =>
      countBy(
        own.filter(({ labels }) => labels.by === by),
        ({ labels }) => labels.status_class,
        keptOf,
      );
    return { service: of("service"), countersign: of("countersign") };
  }

  /** Each name once for each listener. */
  #viewCallers(): CallerStatus[] {
    const endsOf = groupBy(this.#metrics.callerRequests.kept(), ({ labels }) => callerKey(labels));
    const callers = new Map(
      this.#source.callers().map((caller) => [callerKey({ ...caller, caller: caller.name }), caller]),
    );
    return [...callers].map(([key, { name, environment, listener, certificates, ...rights }]) => ({
      name,
      environment,
      listener,
      by: certificates.length > 0 ? "certificate" : "token",
      sites: list(rights.sites),
      operations: list(rights.operations),
      requestsPerSecond: rights.requestsPerSecond,
      tally: tally(endsOf.get(key) ?? []),
    }));
  }
}

function siteKey({ environment, site }: { readonly environment: string; readonly site: string }): string {
  return `${environment} ${site}`;
}

function callerKey({ listener, caller }: { readonly listener: string; readonly caller: string }): string {
  return `${listener} ${caller}`;
}

function list(allowed: ReadonlySet<string> | "any"): readonly string[] {
  return allowed === "any" ? ["*"] : [...allowed];
}

function ownTokenUrls(environment: Environment): string[] | undefined {
  const urls = credentialSetsOf(environment).flatMap(({ set }) => (set.token?.url ? [urlOf(set.token.url)] : []));
  return urls.length === 0 ? undefined : [...new Set(urls)];
}

function urlOf({ origin, path }: Address): string {
  return `${origin}${path}`;
}
