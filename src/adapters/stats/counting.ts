import type { Clock } from "../../model/clock.ts";
import type { FailureCode } from "../../model/errors.ts";
import {
  type CallbackFinished,
  type Report,
  type RequestFinished,
  reportTo,
  statusClass,
  tokenOutages,
} from "../../model/events.ts";
import { claimsNodeName, explainRedisFailure } from "../../model/redis-access.ts";
import type { Metrics } from "./metrics.ts";
import {
  type Details,
  describeCallbackEnd,
  describeEnd,
  fateOf,
  type RecentRequests,
  type RequestEnd,
} from "./recent-requests.ts";
import { getOrMake, onceForEach } from "./series.ts";

/** Returns the last minutes of an environment, or of the callbacks of its listener: the same object for the same names. */
export type RecentOf = (environment: string, callbacksAt?: string) => RecentRequests;

/**
 * Counts each event once, for metrics and for `/status`. Gauges (gauges.ts) read the present state instead. Labels of
 * events that come with every request are made once (`onceForEach`).
 */
export function createCounting(metrics: Metrics, recentOf: RecentOf, clock: Clock): Report {
  /** Why Redis servers are away, and authorization servers issue no token: kept with each failure, since it passes. */
  const reasons = new Map<string, string | undefined>();
  const countRequest = createRequestCounting(metrics, recentOf, clock, reasons);
  const callbackSeriesOf = onceForEach(
    (
      environment: string,
      listener: string,
      ...[site, result, cause, server]: Parameters<typeof describeCallbackEnd>
    ) => ({
      counter: metrics.callbacks.series({ environment, site, result, listener }),
      ofEnvironment: { environment },
      end: describeCallbackEnd(site, result, cause, server),
    }),
  );
  return reportTo({
    request_finished: countRequest,
    callback_finished(event) {
      const { environment, listener, site = "none", result, isGuarded, durationMs, server } = event;
      const cause = causeOf(event);
      const { counter, ofEnvironment, end } = callbackSeriesOf(environment, listener, site, result, cause, server);
      counter.inc(clock.wallMs());
      if (isGuarded === false) metrics.callbacksUnguarded.inc({ environment, listener });
      metrics.callbackDuration.observe(ofEnvironment, durationMs / 1_000);
      if (end !== undefined) recentOf(environment, listener).add(end, durationMs, clock.nowMs());
    },
    tunnel_requested: ({ environment, result }) => metrics.tunnels.inc({ environment, result }),
    upstream_unauthorized: ({ environment, site, auth, attempt }) =>
      metrics.unauthorized.inc({ environment, site, auth, attempt: String(attempt) }),
    clock_skew_measured: ({ environment, skewSeconds }) => metrics.clockSkews.set(environment, skewSeconds),
    token_requested({ environment, credential, result, durationMs, detail }) {
      for (const key of [environment, `${environment} ${credential.split("/")[0]}`]) reasons.set(key, detail);
      metrics.tokenRequests.series({ environment, credential, result }).inc(clock.wallMs());
      metrics.tokenRequestDuration.observe({ environment }, durationMs / 1_000);
    },
    refresh_suppressed: ({ environment, credential, reason }) =>
      metrics.refreshSuppressed.inc({ environment, credential, reason }),
    token_cache_read: ({ tier, result }) => metrics.tokenCache.inc({ tier, result }),
    refresh_lock_tried: ({ result }) => metrics.refreshLock.inc({ result }),
    redis_down: (event) => reasons.set(event.node, `${event.address}: ${explainRedisFailure(event).detail}`),
    redis_up: ({ node }) => reasons.set(node, undefined),
    redis_failed: ({ node, failure }) => metrics.redisErrors.inc({ node, kind: failure }),
    redis_evicts: ({ node, evicted }) => metrics.redisEvictedKeys.inc({ node }, evicted),
    spans_exported: ({ count }) => metrics.traceSpans.inc({ result: "exported" }, count),
    spans_lost: ({ result, count }) => metrics.traceSpans.inc({ result }, count),
    config_applied: () => metrics.configReloads.inc({ result: "applied" }),
    config_refused: () => metrics.configReloads.inc({ result: "refused" }),
  });
}

/** What the application did, or why it was not reached; undefined for results that say enough. */
function causeOf({ result, status, cause }: CallbackFinished): string | undefined {
  if (result === "declined") return `answered ${status}`;
  return result.startsWith("application_") ? cause : undefined;
}

/** The codes whose cause the page needs to say what to do. */
const explained: ReadonlySet<string> = new Set<FailureCode>([
  "upstream_unreachable",
  "upstream_timeout",
  "malformed_request",
  "once_unavailable",
  ...tokenOutages,
]);

/** Details hold foreign text, and their objects are kept: so many for each code, or for answers without one. */
const mostDetails = 50;

/** Returns the same object for equal details; undefined if a request has none, or too many different ones were kept. */
function createDetails(reasons: Reasons): (event: RequestFinished, fate: RequestEnd["fate"]) => Details | undefined {
  const kept = new Map<string | undefined, Map<string, Details>>();
  return (event, fate) => {
    const { code } = event;
    const isExplained = code !== undefined && explained.has(code);
    const cause = code === "method_not_allowed" ? event.method : isExplained ? event.cause : undefined;
    const reason = reasonOf(event, reasons);
    const [server, location, contentType] =
      fate === "succeeded" ? [undefined, undefined, event.contentType] : [event.server, event.location, undefined];
    if ((cause ?? server ?? location ?? contentType) === undefined) return undefined;
    const alike = getOrMake(kept, code, () => new Map<string, Details>());
    const key = `${cause} ${server} ${reason} ${location} ${contentType}`;
    const known = alike.get(key);
    if (known !== undefined || alike.size >= mostDetails) return known;
    const details = { cause, server, reason, location, contentType };
    alike.set(key, details);
    return details;
  };
}

type Reasons = ReadonlyMap<string, string | undefined>;

/** Why the server that it needed besides the service failed. A site may use the sets of another one. */
function reasonOf({ environment, site, code, cause }: RequestFinished, reasons: Reasons): string | undefined {
  if (tokenOutages.some((each) => each === code))
    return reasons.get(`${environment} ${site}`) ?? reasons.get(environment);
  return cause === "Redis" ? (reasons.get(claimsNodeName) ?? reasons.get("cache")) : undefined;
}

/** How a request ended, apart from its site, method and operation. */
type How = Parameters<typeof describeEnd> extends [string, Auth, string, ...infer Rest] ? Rest : never;
type Auth = NonNullable<RequestEnd["auth"]>;

/** Counts how requests end. Label values come from the configuration or a short list, and a status has three digits. */
function createRequestCounting(metrics: Metrics, recentOf: RecentOf, clock: Clock, reasons: Reasons) {
  const detailsOf = createDetails(reasons);
  // One look-up for each request: most requests of a site end alike.
  const seriesOf = onceForEach((environment: string, site: string, auth: Auth, operation: string, ...how: How) => {
    const end = describeEnd(site, auth, operation, ...how);
    const { by, status, outcome, code, fate } = end;
    const counters = [
      metrics.requests.series({ environment, site, auth, operation, status: String(status), by, outcome, code }),
      metrics.answers.series({ environment, auth, by, status_class: statusClass(status) }),
      ...(fate === "unknown" ? [metrics.unknownOutcomes.series({ environment, site })] : []),
      ...(code === undefined ? [] : [metrics.failures.series({ environment, site, code, outcome })]),
    ];
    return { end, counters, ofOperation: { environment, operation } };
  });
  const callerSeriesOf = onceForEach((listener: string, caller: string, { outcome, by, status, code }: RequestEnd) => [
    metrics.callerRequests.series({ listener, caller, outcome, by, status: String(status), code }),
    ...(code !== undefined && callerRefusals.includes(code)
      ? [metrics.callerRefusals.series({ listener, caller, code })]
      : []),
  ]);
  return (event: RequestFinished) => {
    const { environment, site = "none", auth = "none", operationLabel: operation, by, status, outcome, code } = event;
    const { bridged, callerSignature, retry, once, listener, callerName, tokenWaitMs, upstreamMs } = event;
    // A key that was looked up is no order, and says nothing of the service.
    if (once === "looked_up") return metrics.once.inc({ environment, result: once });
    const wallMs = clock.wallMs();
    const fate = fateOf(event);
    const { end, counters, ofOperation } = seriesOf(
      environment,
      site,
      auth,
      operation,
      by,
      status,
      outcome,
      code,
      fate,
      detailsOf(event, fate),
    );
    for (const counter of counters) counter.inc(wallMs);
    if (callerSignature !== undefined) metrics.callerSignatures.inc({ environment, site, result: callerSignature });
    if (bridged !== undefined) metrics.bridged.inc({ environment, site, reason: bridged });
    if (retry !== undefined) metrics.retries.inc({ environment, site, result: retry });
    if (once !== undefined) metrics.once.inc({ environment, result: once });
    if (listener !== undefined && callerName !== undefined) {
      for (const series of callerSeriesOf(listener, callerName, end)) series.inc(wallMs);
    }
    const exemplarLabels = exemplarLabelsOf(event);
    metrics.requestDuration.observe(ofOperation, event.durationMs / 1_000, exemplarLabels);
    metrics.overhead.observe(ofOperation, event.overheadMs / 1_000, exemplarLabels);
    if (upstreamMs !== undefined) metrics.upstreamDuration.observe(ofOperation, upstreamMs / 1_000, exemplarLabels);
    if (tokenWaitMs !== undefined) metrics.tokenWait.observe({ environment }, tokenWaitMs / 1_000, exemplarLabels);
    recentOf(environment).add(end, event.durationMs, clock.nowMs());
  };
}

/** Codes with which a known caller can be refused. */
export const callerRefusals: readonly FailureCode[] = ["caller_not_allowed", "caller_rate_limited"];

/** Links a bucket to a trace; undefined unless the trace is recorded. */
function exemplarLabelsOf({ traceId, spanId }: RequestFinished) {
  return traceId === undefined || spanId === undefined ? undefined : { trace_id: traceId, span_id: spanId };
}
