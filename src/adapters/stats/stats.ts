import { hostname } from "node:os";
import type { Clock } from "../../model/clock.ts";
import { type Address, credentialSetsOf, type Environment } from "../../model/environment.ts";
import {
  type CallbackFinished,
  type Event,
  hasUnknownEffect,
  type OutcomeSettled,
  type ReloadTrigger,
  type RequestFinished,
  reportTo,
  statusClass,
} from "../../model/events.ts";
import { version } from "../../version.ts";
import { createCounting, type RecentOf } from "./counting.ts";
import type { Metrics } from "./metrics.ts";
import { RecentRequests } from "./recent-requests.ts";
import { onceForEach } from "./series.ts";
import type { CallbackPlace, Configured, Source } from "./source.ts";
import { countBy, countOf, formatTime, groupBy, occurrences, sumOf, tally } from "./sums.ts";
import { type CredentialStatus, createTokenStats, findSitesWithoutToken } from "./token-stats.ts";

/**
 * What `/status` shows as JSON and `/` as a page: one object, so that they never disagree. Times are ISO 8601 by this
 * process's wall clock. Nothing in it is secret.
 */
export type StatusSnapshot = Awaited<ReturnType<ReturnType<typeof createStats>["view"]>>;
export type EnvironmentStatus = StatusSnapshot["environments"][number];
export type SiteStatus = EnvironmentStatus["sites"][number];
export type CallerStatus = NonNullable<StatusSnapshot["callers"]>[number];
export type RedisStatus = StatusSnapshot["redis"][number];
export type UnknownOutcome = StatusSnapshot["unknownOutcomes"][number];
export type CallbackStatus = StatusSnapshot["callbacks"][number];
export type CallbackFailureStatus = ReturnType<typeof describeCallbackFailure>;

/** Since when the configuration is active and why, and the last refused one. */
export interface ReloadState {
  readonly inForceSince: string | undefined;
  readonly trigger: "start" | ReloadTrigger;
  readonly lastRefused: RefusedReload | undefined;
}

export interface RefusedReload {
  readonly at: string;
  readonly trigger: ReloadTrigger;
  /** The first of many. */
  readonly problems: readonly string[];
  readonly problemCount: number;
  /** Whether the files still hold it: since then no configuration has been applied or found unchanged. */
  readonly isPending: boolean;
}

/** Each takes some 500 bytes. */
const keptUnknown = 10_000;
const shownUnknown = 100;

/** Counts events in metrics, keeps the recent ones that an operator needs, and makes `/status` from both. */
export function createStats(source: Source, metrics: Metrics, clock: Clock) {
  const recentOf: RecentOf = onceForEach((_environment: string, _callbacksAt?: string) => new RecentRequests());
  const count = createCounting(metrics, recentOf, clock);
  const tokens = createTokenStats(clock);
  const formatNow = () => formatTime(clock.wallMs());
  const startedAt = formatNow();
  /** Kept after every reload: an order may exist in an environment that is no longer configured. */
  const unknown: KeptUnknown[] = [];
  /** For each place, the last callback that was neither delivered nor repeated. */
  const callbackFailures = new Map<string, CallbackFailureStatus>();
  let reload: ReloadState = { inForceSince: undefined, trigger: "start", lastRefused: undefined };
  const findUnknown = (requestId: string) => unknown.find((each) => each.requestId === requestId);
  const settleReload = () => {
    return { ...reload, lastRefused: reload.lastRefused && { ...reload.lastRefused, isPending: false } };
  };

  const keep = reportTo({
    request_finished(event) {
      if (!hasUnknownEffect(event)) return;
      const { onceName } = event;
      unknown.push({ ...describeUnknown(event, formatNow()), onceName, settled: undefined, settledAt: undefined });
      if (unknown.length > keptUnknown) unknown.shift();
    },
    outcome_settled(event) {
      const kept = findUnknown(event.requestId);
      if (kept === undefined) return;
      kept.settled = event;
      kept.settledAt = formatNow();
      const { environment, site = "none" } = kept;
      metrics.unknownOutcomesSettled.series({ environment, site }).inc(clock.wallMs());
    },
    callback_finished(event) {
      if (event.result === "delivered" || event.result === "repeated") return;
      callbackFailures.set(placeKey(event), describeCallbackFailure(event, formatNow()));
    },
    token_requested: tokens.report,
    token_adopted: tokens.report,
    started() {
      reload = { ...reload, inForceSince: formatNow() };
    },
    config_applied({ trigger }) {
      reload = { ...settleReload(), inForceSince: formatNow(), trigger };
    },
    config_unchanged() {
      reload = settleReload();
    },
    config_refused({ trigger, problems, problemCount }) {
      reload = { ...reload, lastRefused: { at: formatNow(), trigger, problems, problemCount, isPending: true } };
    },
  });

  return {
    reload: () => reload,
    findUnknown,

    report(event: Event): void {
      count(event);
      keep(event);
    },

    /** @param configuration the effective one, secrets masked */
    async view(readiness: { readonly isReady: boolean; readonly reason: string }, configuration: object) {
      const { hash: configHash, docsUrl, environments, callers, callbacks } = source.configured();
      const { lastRefused, ...active } = reload;
      const viewRecent = (...place: Parameters<RecentOf>) => {
        const { lastFailedMs, ...recent } = recentOf(...place).view(clock.nowMs());
        const lastFailedAt = lastFailedMs === undefined ? undefined : formatTime(source.wallTime(lastFailedMs));
        return { ...recent, lastFailedAt };
      };
      const counts = await readCounts(metrics);
      const credentials = tokens.view(counts.tokenRequests, source.credentials(), source.wallTime);
      const setsOf = groupBy(credentials, ({ environment }) => environment);
      const endsOf = groupBy(counts.requests, ({ labels }) => labels.environment);
      return {
        /** When this snapshot was taken. */
        at: formatNow(),
        version,
        /** Node.js's version. */
        runtime: process.version,
        /** Which replica this is: in Kubernetes, the pod's name. */
        host: hostname(),
        startedAt,
        configHash,
        /** Where the page's links lead; undefined: to the documents of this version. */
        docsUrl,
        readiness,
        requests: viewTotals(counts, source.inFlight()),
        /** Since the start: standard output was not read, or a disk was full. */
        droppedLogLines: source.droppedLogLines(),
        /** Those that are not settled first; newest first. */
        unknownOutcomes: viewUnknown(unknown),
        environments: environments.map((environment) => {
          const { name } = environment;
          const clockSkewSeconds = metrics.clockSkews.get(name);
          const viewed = viewEnvironment(environment, viewRecent(name), endsOf.get(name) ?? [], setsOf.get(name) ?? []);
          /** Our clock minus the service's, by its last Date; undefined before one. */
          return { ...viewed, clockSkewSeconds };
        }),
        /** One for each listener for callbacks. */
        callbacks: viewCallbacks(callbacks, counts, callbackFailures, viewRecent),
        /** Callers that have names, in the configuration's order; absent if there are none. */
        ...(callers.length === 0 ? {} : { callers: viewCallers(callers, counts.callerRequests) }),
        credentials,
        /** One for each Redis server in use; none with the memory cache. */
        redis: source.redis().map(({ sinceMs, ...server }) => {
          return { ...server, since: sinceMs === undefined ? undefined : formatTime(source.wallTime(sinceMs)) };
        }),
        reload: { ...active, routes: source.routes(), lastRefused },
        configuration,
      };
    },
  };
}

const counted = [
  "requests",
  "unknownOutcomes",
  "unknownOutcomesSettled",
  "callerRequests",
  "callbacks",
  "callbacksUnguarded",
  "tokenRequests",
] as const;

type Counts = { readonly [Name in (typeof counted)[number]]: Awaited<ReturnType<Metrics[Name]["counted"]>> };

/** The counts of metrics, all read at once. */
async function readCounts(metrics: Metrics): Promise<Counts> {
  const counts = counted.map(async (name) => [name, await metrics[name].counted()] as const);
  return Object.fromEntries(await Promise.all(counts)) as Counts;
}

/** Totals since the start, including what is no longer configured. */
function viewTotals(
  { requests, unknownOutcomes, unknownOutcomesSettled }: Counts,
  inFlight: ReturnType<Source["inFlight"]>,
) {
  return {
    inFlight: sumOf([...inFlight.values()], (open) => open),
    answeredBy: { service: 0, countersign: 0, ...countBy(requests, ({ labels }) => labels.by, countOf) },
    unknownOutcomes: sumOf(unknownOutcomes, countOf),
    /** How many of them somebody has looked for. */
    settledOutcomes: sumOf(unknownOutcomesSettled, countOf),
    failures: countBy(requests, ({ labels }) => labels.code, countOf),
  };
}

/** The last minutes; `lastFailedAt` is absent if nothing has failed since the start. */
interface RecentView extends Omit<ReturnType<RecentRequests["view"]>, "lastFailedMs"> {
  readonly lastFailedAt: string | undefined;
}

/**
 * @param ends of its requests
 * @param sets its credential sets
 */
function viewEnvironment(
  environment: Environment,
  recent: RecentView,
  ends: Counts["requests"],
  sets: readonly CredentialStatus[],
) {
  const { name, baseUrl, authUrl, operations, defaultSite } = environment;
  const endsOf = groupBy(ends, ({ labels }) => labels.site);
  const failedOf = new Map(recent.failingSites.map(({ site, failed }) => [site, failed]));
  const tallyOf = (site: string) => tally(endsOf.get(site) ?? []);
  const sites = [...environment.sites.values()].map(({ identifier, parent, auth, bridge, credentials }) => {
    const labels = credentials?.sets.map(({ label }) => label) ?? [];
    const failedLately = failedOf.get(identifier) ?? 0;
    return { identifier, parent, auth, bridge, credentials: labels, tally: tallyOf(identifier), failedLately };
  });
  const outagesOf = (isBridged: boolean) => {
    const some = sites.filter(({ bridge }) => (bridge !== undefined) === isBridged);
    return findSitesWithoutToken(some, sets);
  };
  const answersBy = (by: RequestFinished["by"]) =>
    countBy(ends, ({ labels }) => (labels.by === by ? statusClass(Number(labels.status)) : undefined), countOf);
  return {
    name,
    baseUrl: urlOf(baseUrl),
    /** Undefined if no token request needs it. */
    authUrl: authUrl && urlOf(authUrl),
    /** Token endpoints that sets have of their own (`token.url`). */
    tokenUrls: ownTokenUrls(environment),
    operations: list(operations),
    defaultSite,
    /** Files of single sites that are refused; absent if the configuration itself names the sites. */
    refusedSiteFiles: environment.siteFolder?.refused,
    sites,
    /** Answers since the start, by who gave them and by class of status. */
    answers: { service: answersBy("service"), countersign: answersBy("countersign") },
    recent,
    /** Sites without a token, by cause; most failed orders first. */
    tokenOutages: outagesOf(false),
    /** The same for sites that sign meanwhile (`bridge: hmac`). */
    bridgedOutages: outagesOf(true),
    /** Requests that ended before their site was known. */
    withoutSite: { ...tallyOf("none"), failedLately: failedOf.get("none") ?? 0 },
  };
}

/** The results of callbacks, by the listener that received them. */
function viewCallbacks(
  places: readonly CallbackPlace[],
  { callbacks, callbacksUnguarded }: Counts,
  failures: ReadonlyMap<string, CallbackFailureStatus>,
  viewRecent: (environment: string, listener: string) => RecentView,
) {
  const resultsOf = groupBy(callbacks, ({ labels }) => placeKey(labels));
  const unguardedOf = groupBy(callbacksUnguarded, ({ labels }) => placeKey(labels));
  return places.map((place) => {
    const key = placeKey(place);
    return {
      ...place,
      /** By CallbackResult. */
      results: occurrences(resultsOf.get(key) ?? [], ({ labels }) => labels.result),
      /** Callbacks that the application may get twice, since the store of replays failed. */
      unguarded: sumOf(unguardedOf.get(key) ?? [], countOf),
      lastFailure: failures.get(key),
      recent: viewRecent(place.environment, place.listener),
    };
  });
}

/** The rights and the requests of each caller at a listener; each name once for each listener. */
function viewCallers(configured: Configured["callers"], ends: Counts["callerRequests"]) {
  const endsOf = groupBy(ends, ({ labels }) => callerKey(labels));
  const callers = new Map(configured.map((caller) => [callerKey({ ...caller, caller: caller.name }), caller]));
  return [...callers].map(([key, { name, environment, listener, certificates, ...rights }]) => ({
    name,
    environment,
    listener,
    /** What proves the caller; never the proof itself. */
    by: certificates.length > 0 ? "certificate" : "token",
    sites: list(rights.sites),
    operations: list(rights.operations),
    requestsPerSecond: rights.requestsPerSecond,
    tally: tally(endsOf.get(key) ?? []),
  }));
}

/** What is kept of a request whose effect is not known. */
interface KeptUnknown extends ReturnType<typeof describeUnknown>, Pick<RequestFinished, "onceName"> {
  settled: OutcomeSettled | undefined;
  settledAt: string | undefined;
}

function viewUnknown(unknown: readonly KeptUnknown[]) {
  const newestFirst = unknown.toReversed();
  const open = newestFirst.filter(({ settled }) => settled === undefined);
  return [...open, ...newestFirst.filter(({ settled }) => settled !== undefined)]
    .slice(0, shownUnknown)
    .map(({ onceName, settled, settledAt: at, ...shown }) => {
      return { ...shown, settled: settled && { at, found: settled.found, note: settled.note, key: settled.key } };
    });
}

/** A request that is not safe, and whose effect is not known: an operator looks it up before the order is sent again. */
function describeUnknown(event: RequestFinished, at: string) {
  const { environment, site, operation, caller, reference, requestId, code, stage, by } = event;
  // Only an answer that was passed on whole has a status here: its environment calls that status undecided.
  const status = by === "service" && code === undefined ? event.status : undefined;
  return { at, environment, site, operation, caller, reference, requestId, code, status, stage };
}

/** A callback that the application has not accepted; `cause` if it says more than the result. Nothing of its content. */
function describeCallbackFailure({ result, status, cause, server, site, requestId }: CallbackFinished, at: string) {
  return { at, result, status, cause: cause === result ? undefined : cause, server, site, requestId };
}

function callerKey({ listener, caller }: { readonly listener: string; readonly caller: string }): string {
  return `${listener} ${caller}`;
}

function placeKey(place: { readonly environment: string; readonly listener?: string | undefined }): string {
  return `${place.environment} ${place.listener}`;
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
