import type { Clock } from "../../model/clock.ts";
import { type Address, credentialSetsOf, type Environment } from "../../model/environment.ts";
import { type Event, hasUnknownEffect, type RequestFinished, statusClass } from "../../model/events.ts";
import { createCallbackStats } from "./callback-stats.ts";
import { createCounting } from "./counting.ts";
import type { Metrics } from "./metrics.ts";
import { RecentRequests } from "./recent-requests.ts";
import { ReloadStats } from "./reload.ts";
import { getOrMake } from "./series.ts";
import type { Configured, Source } from "./source.ts";
import { countBy, countOf, formatTime, groupBy, keptOf, sumOf, tally } from "./sums.ts";
import { type CredentialStatus, createTokenStats, findTokenOutage } from "./token-stats.ts";

/**
 * What `/status` shows as JSON and `/` as a page: one object, so that they never disagree. Times are ISO 8601 by this
 * process's wall clock. Nothing in it is secret.
 */
export interface StatusSnapshot extends ReturnType<ReturnType<typeof createStats>["view"]> {
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
export function createStats(source: Source, metrics: Metrics, clock: Clock) {
  const recent = new Map<string, RecentRequests>();
  const recentOf = (environment: string) => getOrMake(recent, environment, () => new RecentRequests());
  const count = createCounting(metrics, recentOf, clock);
  const tokens = createTokenStats(metrics.tokenRequests, clock);
  const callbacks = createCallbackStats(metrics, clock);
  const reload = new ReloadStats(clock);
  /** Kept whatever is configured later: an order may exist in an environment that is no longer configured. */
  const unknown: UnknownOutcome[] = [];

  return {
    reload,

    /** `/status` forgets sites, callers, sets and listeners for callbacks that are not configured. Metrics forget nothing. */
    forgetOthers(): void {
      const configured = source.configured();
      const sites = new Map(configured.environments.map(({ name, sites }) => [name, sites]));
      metrics.requests.keepOnly(({ environment, site }) =>
        site === "none" ? sites.has(environment) : sites.get(environment)?.has(site) === true,
      );
      for (const [environment, requests] of recent) if (!sites.has(environment)) requests.clear();
      const callers = new Set(configured.callers.map(({ listener, name }) => callerKey({ listener, caller: name })));
      metrics.callerRequests.keepOnly((labels) => callers.has(callerKey(labels)));
      tokens.keepOnly(configured.environments);
      callbacks.follow(configured.callbacks);
    },

    report(event: Event): void {
      count(event);
      switch (event.kind) {
        case "request_finished":
          if (!hasUnknownEffect(event)) return;
          unknown.push(describeUnknown(event, formatTime(clock.wallMs())));
          if (unknown.length > keptUnknown) unknown.shift();
          return;
        case "callback_finished":
          callbacks.report(event);
          return;
        case "token_adopted":
        case "token_requested":
          tokens.report(event);
          return;
        default:
          reload.report(event);
      }
    },

    view() {
      const { environments, callers } = source.configured();
      const credentials = tokens.view(source.credentials(), source.wallTime);
      const setsOf = groupBy(credentials, ({ environment }) => environment);
      const endsOf = groupBy(metrics.requests.kept(), ({ labels }) => labels.environment);
      return {
        requests: viewTotals(metrics, source.inFlight()),
        /** Newest first. */
        unknownOutcomes: unknown.toReversed(),
        environments: environments.map((environment) => {
          const { name } = environment;
          const lately = recentOf(name).view(clock.nowMs());
          return viewEnvironment(environment, lately, endsOf.get(name) ?? [], setsOf.get(name) ?? []);
        }),
        /** One for each listener for callbacks. */
        callbacks: callbacks.view(),
        /** Those that have names, in the configuration's order; absent where there are none. */
        ...(callers.length === 0 ? {} : { callers: viewCallers(callers, metrics.callerRequests.kept()) }),
        credentials,
        /** One for each Redis server in use; none with the memory cache. */
        redis: source.redis().map(({ sinceMs, ...server }) => {
          return { ...server, since: sinceMs === undefined ? undefined : formatTime(source.wallTime(sinceMs)) };
        }),
        reload: reload.view(source.routes()),
      };
    },
  };
}

/** Since the start, whatever was configured in the meantime. */
function viewTotals({ requests, unknownOutcomes }: Metrics, inFlight: ReturnType<Source["inFlight"]>) {
  const ends = requests.counted();
  const failures = ends.filter(({ labels: { code } }) => code !== undefined);
  return {
    inFlight: sumOf([...inFlight.values()], (open) => open),
    answeredBy: { service: 0, countersign: 0, ...countBy(ends, ({ labels }) => labels.by, countOf) },
    unknownOutcomes: sumOf(unknownOutcomes.counted(), countOf),
    failures: countBy(failures, ({ labels: { code = "" } }) => code, countOf),
  };
}

/**
 * @param ends of its requests
 * @param sets its credential sets
 */
function viewEnvironment(
  environment: Environment,
  recent: ReturnType<RecentRequests["view"]>,
  ends: ReturnType<Metrics["requests"]["kept"]>,
  sets: readonly CredentialStatus[],
) {
  const { name, baseUrl, authUrl, operations, defaultSite } = environment;
  const endsOf = groupBy(ends, ({ labels }) => labels.site);
  const tallyOf = (site: string) => tally(endsOf.get(site) ?? []);
  const sites = [...environment.sites.values()].map(({ identifier, parent, auth, bridge, credentials }) => {
    const labels = credentials?.sets.map(({ label }) => label) ?? [];
    return { identifier, parent, auth, bridge, credentials: labels, tally: tallyOf(identifier) };
  });
  const outageOf = (isBridged: boolean) => {
    const some = sites.filter(({ bridge }) => (bridge !== undefined) === isBridged);
    return findTokenOutage(some, sets);
  };
  const answersBy = (by: RequestFinished["by"]) => {
    const answers = ends.filter(({ labels }) => labels.by === by);
    return countBy(answers, ({ labels }) => statusClass(Number(labels.status)), keptOf);
  };
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
    recent,
    tokenOutage: outageOf(false),
    /** The same for sites that sign meanwhile (`bridge: hmac`). */
    bridgedOutage: outageOf(true),
    /** Requests that ended before their site was known. */
    withoutSite: tallyOf("none"),
  };
}

/** What each may do at a listener, and what it did; each name once for each listener. */
function viewCallers(configured: Configured["callers"], ends: ReturnType<Metrics["callerRequests"]["kept"]>) {
  const endsOf = groupBy(ends, ({ labels }) => callerKey(labels));
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

/** A request that is not safe, and whose effect is not known: an operator looks it up before the order is sent again. */
function describeUnknown(event: RequestFinished, at: string) {
  const { environment, site, operation, caller, reference, requestId, code, stage, by } = event;
  // Only an answer that was passed on whole has a status here: its environment calls that status undecided.
  const status = by === "service" && code === undefined ? event.status : undefined;
  return { at, environment, site, operation, caller, reference, requestId, code, status, stage };
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
