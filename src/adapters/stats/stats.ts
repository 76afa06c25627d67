import type { Clock } from "../../model/clock.ts";
import { type Address, credentialSetsOf, type Environment } from "../../model/environment.ts";
import { type Event, hasUnknownEffect, type Report, type RequestFinished, statusClass } from "../../model/events.ts";
import { CallbackStats } from "./callback-stats.ts";
import { createCounting } from "./counting.ts";
import type { Metrics } from "./metrics.ts";
import { RecentRequests } from "./recent-requests.ts";
import { ReloadStats } from "./reload.ts";
import type { Source } from "./source.ts";
import { countBy, countOf, formatTime, groupBy, keptOf, sumOf, tally } from "./sums.ts";
import { type CredentialStatus, findTokenOutage, type SiteSets, TokenStats } from "./token-stats.ts";

/**
 * What `/status` shows as JSON and `/` as a page: one object, so that they never disagree. Times are ISO 8601 by this
 * process's wall clock. Nothing in it is secret.
 */
export interface StatusSnapshot extends ReturnType<Stats["view"]> {
  /** When it was taken. */
  readonly at: string;
  readonly version: string;
  /** Node.js's version. */
  readonly runtime: string;
  /** Which replica this is: in Kubernetes, the pod's name. */
  readonly host: string;
  readonly startedAt: string;
  readonly configHash: string;
  readonly readiness: { readonly isReady: boolean; readonly reason: string };
  /** The effective configuration, secrets masked. */
  readonly configuration: object;
}

export type EnvironmentStatus = StatusSnapshot["environments"][number];
export type SiteStatus = EnvironmentStatus["sites"][number];
export type CallerStatus = NonNullable<StatusSnapshot["callers"]>[number];
export type RedisStatus = StatusSnapshot["redis"][number];
export type UnknownOutcome = ReturnType<typeof describeUnknown>;

const keptUnknown = 100;

/** Counts events in metrics, keeps the last of what an operator asks for, and shows both as `/status` has them. */
export class Stats {
  readonly reload: ReloadStats;
  readonly #source: Source;
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  readonly #count: Report;
  readonly #tokens: TokenStats;
  readonly #callbacks: CallbackStats;
  readonly #recent = new Map<string, RecentRequests>();
  /** Kept whatever is configured later: an order may exist in an environment that is no longer configured. */
  readonly #unknown: UnknownOutcome[] = [];

  constructor(source: Source, metrics: Metrics, clock: Clock) {
    this.#source = source;
    this.#metrics = metrics;
    this.#clock = clock;
    this.#count = createCounting(metrics, (environment) => this.#recentOf(environment), clock);
    this.#tokens = new TokenStats(metrics.tokenRequests, clock);
    this.#callbacks = new CallbackStats(metrics, clock);
    this.reload = new ReloadStats(clock);
  }

  /** `/status` forgets sites, callers, sets and listeners for callbacks that are not configured. Metrics forget nothing. */
  forgetOthers(): void {
    const { requests, callerRequests } = this.#metrics;
    const configured = this.#source.configured();
    const sites = new Map(configured.environments.map(({ name, sites }) => [name, sites]));
    requests.keepOnly(({ environment, site }) =>
      site === "none" ? sites.has(environment) : sites.get(environment)?.has(site) === true,
    );
    for (const [environment, recent] of this.#recent) if (!sites.has(environment)) recent.clear();
    const callers = new Set(configured.callers.map(({ listener, name }) => callerKey({ listener, caller: name })));
    callerRequests.keepOnly((labels) => callers.has(callerKey(labels)));
    this.#tokens.keepOnly(configured.environments);
    this.#callbacks.follow(configured.callbacks);
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

  view() {
    const { configured, credentials, redis, routes, wallTime } = this.#source;
    const { environments, callers } = configured();
    const sets = this.#tokens.view(credentials(), wallTime);
    return {
      requests: this.#viewTotals(),
      /** Newest first. */
      unknownOutcomes: this.#unknown.toReversed(),
      environments: this.#viewEnvironments(environments, sets),
      /** One for each listener for callbacks. */
      callbacks: this.#callbacks.view(),
      /** Those that have names, in the configuration's order; absent where there are none. */
      ...(callers.length === 0 ? {} : { callers: this.#viewCallers() }),
      credentials: sets,
      /** One for each Redis server in use; none with the memory cache. */
      redis: redis().map(({ sinceMs, ...server }) => {
        return { ...server, since: sinceMs === undefined ? undefined : formatTime(wallTime(sinceMs)) };
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
    this.#unknown.push(describeUnknown(event, formatTime(this.#clock.wallMs())));
    if (this.#unknown.length > keptUnknown) this.#unknown.shift();
  }

  /** Since the start, whatever was configured in the meantime. */
  #viewTotals() {
    const ends = this.#metrics.requests.counted();
    const failures = ends.filter(({ labels: { code } }) => code !== undefined);
    return {
      inFlight: sumOf([...this.#source.inFlight().values()], (open) => open),
      answeredBy: { service: 0, countersign: 0, ...countBy(ends, ({ labels }) => labels.by, countOf) },
      unknownOutcomes: sumOf(this.#metrics.unknownOutcomes.counted(), countOf),
      failures: countBy(failures, ({ labels: { code = "" } }) => code, countOf),
    };
  }

  /** @param credentials the sets of all environments */
  #viewEnvironments(environments: readonly Environment[], credentials: readonly CredentialStatus[]) {
    const ends = this.#metrics.requests.kept();
    const endsOf = groupBy(ends, ({ labels }) => siteKey(labels));
    const outageOf = (environment: string, sites: readonly SiteSets[]) =>
      findTokenOutage(
        sites,
        credentials.filter((set) => set.environment === environment),
      );
    const tallyOf = (environment: string, site: string) => tally(endsOf.get(siteKey({ environment, site })) ?? []);
    return environments.map((environment) => {
      const { name, baseUrl, authUrl, operations, defaultSite } = environment;
      const sites = [...environment.sites.values()].map(({ identifier, parent, auth, bridge, credentials }) => {
        const labels = credentials?.sets.map(({ label }) => label) ?? [];
        return { identifier, parent, auth, bridge, credentials: labels, tally: tallyOf(name, identifier) };
      });
      const answersBy = (by: RequestFinished["by"]) =>
        countBy(
          ends.filter(({ labels }) => labels.environment === name && labels.by === by),
          ({ labels }) => statusClass(Number(labels.status)),
          keptOf,
        );
      return {
        name,
        baseUrl: urlOf(baseUrl),
        /** Undefined where every site signs. */
        authUrl: authUrl && urlOf(authUrl),
        /** Token endpoints that sets have of their own (`token.url`). */
        tokenUrls: ownTokenUrls(environment),
        operations: list(operations),
        defaultSite,
        /** Files of single sites that are refused; absent where sites are named in the configuration. */
        refusedSiteFiles: environment.siteFolder?.refused,
        sites,
        /** Since the start, by who gave them and by class of status. */
        answers: { service: answersBy("service"), countersign: answersBy("countersign") },
        recent: this.#recentOf(name).view(this.#clock.nowMs()),
        tokenOutage: outageOf(
          name,
          sites.filter(({ bridge }) => bridge === undefined),
        ),
        /** The same for sites that sign meanwhile (`bridge: hmac`). */
        bridgedOutage: outageOf(
          name,
          sites.filter(({ bridge }) => bridge !== undefined),
        ),
        /** Requests that ended before their site was known. */
        withoutSite: tallyOf(name, "none"),
      };
    });
  }

  /** What each may do at a listener, and what it did; each name once for each listener. */
  #viewCallers() {
    const endsOf = groupBy(this.#metrics.callerRequests.kept(), ({ labels }) => callerKey(labels));
    const configured = this.#source.configured().callers;
    const callers = new Map(configured.map((caller) => [callerKey({ ...caller, caller: caller.name }), caller]));
    return [...callers].map(([key, { name, environment, listener, certificates, ...rights }]) => ({
      name,
      environment,
      listener,
      /** What proves it; never the proof itself. */
      by: certificates.length > 0 ? "certificate" : "token",
      sites: list(rights.sites),
      operations: list(rights.operations),
      requestsPerSecond: rights.requestsPerSecond,
      tally: tally(endsOf.get(key) ?? []),
    }));
  }
}

/** A request that is not safe, and whose effect is not known: an operator looks it up before the order is sent again. */
function describeUnknown(event: RequestFinished, at: string) {
  const { environment, site, operation, caller, reference, requestId, code, stage, by } = event;
  // Only an answer that was passed on whole has a status here: its environment calls that status undecided.
  const status = by === "service" && code === undefined ? event.status : undefined;
  return { at, environment, site, operation, caller, reference, requestId, code, status, stage };
}

function siteKey({ environment, site }: { readonly environment: string; readonly site: string }): string {
  return `${environment} ${site}`;
}

function callerKey({ listener, caller }: { readonly listener: string; readonly caller: string }): string {
  return `${listener} ${caller}`;
}

/** `["*"]`: all of the environment. */
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
