import type { Clock } from "../../model/clock.ts";
import type { FailureCode } from "../../model/errors.ts";
import { hasUnknownEffect, type Report, type RequestFinished, reportTo, statusClass } from "../../model/events.ts";
import type { Metrics } from "./metrics.ts";
import { describeEnd, type End, type RecentRequests } from "./recent-requests.ts";
import { type Exemplar, onceForEach } from "./series.ts";

/** Returns the last minutes of an environment: the same object for the same name. */
type RecentOf = (environment: string) => RecentRequests;

/**
 * Counts each event once, for metrics and for `/status`. Gauges (gauges.ts) read the present state instead. Code keeps
 * references to the series of events that come with every request (series.ts).
 */
export function createCounting(metrics: Metrics, recentOf: RecentOf, clock: Clock): Report {
  const countRequest = createRequestCounting(metrics, recentOf, clock);
  const cacheReads = onceForEach((tier: string, result: string) => metrics.tokenCache.series({ tier, result }));
  return reportTo({
    request_finished: countRequest,
    callback_finished({ environment, listener, site = "none", result, isGuarded, durationMs }) {
      metrics.callbacks.series({ environment, site, result, listener }).inc(clock.wallMs());
      if (isGuarded === false) metrics.callbacksUnguarded.inc({ environment, listener });
      metrics.callbackDuration.series({ environment }).observe(durationMs / 1_000);
    },
    tunnel_requested: ({ environment, result }) => metrics.tunnels.inc({ environment, result }),
    upstream_unauthorized: ({ environment, site, auth, attempt }) =>
      metrics.unauthorized.inc({ environment, site, auth, attempt: String(attempt) }),
    clock_skew_measured: ({ environment, skewSeconds }) => metrics.clockSkews.set(environment, skewSeconds),
    token_requested({ environment, credential, result, durationMs }) {
      metrics.tokenRequests.series({ environment, credential, result }).inc(clock.wallMs());
      metrics.tokenRequestDuration.series({ environment }).observe(durationMs / 1_000);
    },
    refresh_suppressed: ({ environment, credential, reason }) =>
      metrics.refreshSuppressed.inc({ environment, credential, reason }),
    token_cache_read: ({ tier, result }) => cacheReads(tier, result).inc(),
    refresh_lock_tried: ({ result }) => metrics.refreshLock.inc({ result }),
    redis_failed: ({ node, failure }) => metrics.redisErrors.inc({ node, kind: failure }),
    spans_exported: ({ count }) => metrics.traceSpans.inc({ result: "exported" }, count),
    spans_lost: ({ result, count }) => metrics.traceSpans.inc({ result }, count),
    config_applied: () => metrics.configReloads.inc({ result: "applied" }),
    config_refused: () => metrics.configReloads.inc({ result: "refused" }),
  });
}

/** Counts how requests end. Label values come from the configuration or a short list, and a status has three digits. */
function createRequestCounting(metrics: Metrics, recentOf: RecentOf, clock: Clock): (event: RequestFinished) => void {
  const endOf = onceForEach(describeEnd);
  const timesOf = onceForEach((environment: string, operation: string) => ({
    requestDuration: metrics.requestDuration.series({ environment, operation }),
    overhead: metrics.overhead.series({ environment, operation }),
    // Not made yet: a series appears with its first value.
    upstreamDuration: onceForEach(() => metrics.upstreamDuration.series({ environment, operation })),
    tokenWait: onceForEach(() => metrics.tokenWait.series({ environment })),
    recent: recentOf(environment),
  }));
  // One look-up for each request: most requests of a site end alike.
  const seriesOf = onceForEach(
    (environment: string, site: string, auth: string, operation: string, ...how: Parameters<typeof describeEnd>) => {
      const end = endOf(...how);
      const { by, status, outcome, code, fate } = end;
      const counters = [
        metrics.requests.series({ environment, site, auth, operation, status: String(status), by, outcome, code }),
        metrics.answers.series({ environment, auth, by, status_class: statusClass(status) }),
        ...(fate === "unknown" ? [metrics.unknownOutcomes.series({ environment, site })] : []),
        ...(code === undefined ? [] : [metrics.failures.series({ environment, site, code, outcome })]),
      ];
      return { end, counters, times: timesOf(environment, operation) };
    },
  );
  const callerSeriesOf = onceForEach((listener: string, caller: string, { outcome, by, status, code }: End) => [
    metrics.callerRequests.series({ listener, caller, outcome, by, status: String(status), code }),
    ...(code !== undefined && callerRefusals.includes(code)
      ? [metrics.callerRefusals.series({ listener, caller, code })]
      : []),
  ]);
  return (event) => {
    const { environment, site = "none", auth = "none", operationLabel: operation, by, status, outcome, code } = event;
    const { bridged, callerSignature, retry, once, listener, callerName, tokenWaitMs, upstreamMs } = event;
    const wallMs = clock.wallMs();
    const isUnknown = hasUnknownEffect(event);
    const { end, counters, times } = seriesOf(environment, site, auth, operation, by, status, outcome, code, isUnknown);
    for (const counter of counters) counter.inc(wallMs);
    if (callerSignature !== undefined) metrics.callerSignatures.inc({ environment, site, result: callerSignature });
    if (bridged !== undefined) metrics.bridged.inc({ environment, site, reason: bridged });
    if (retry !== undefined) metrics.retries.inc({ environment, site, result: retry });
    if (once !== undefined) metrics.once.inc({ environment, result: once });
    if (listener !== undefined && callerName !== undefined) {
      for (const series of callerSeriesOf(listener, callerName, end)) series.inc(wallMs);
    }
    const exemplar = exemplarOf(event, wallMs);
    const bucket = times.requestDuration.observe(event.durationMs / 1_000, exemplar);
    times.overhead.observe(event.overheadMs / 1_000, exemplar);
    if (upstreamMs !== undefined) times.upstreamDuration().observe(upstreamMs / 1_000, exemplar);
    if (tokenWaitMs !== undefined) times.tokenWait().observe(tokenWaitMs / 1_000, exemplar);
    times.recent.add(end, bucket, clock.nowMs());
  };
}

/** Codes with which a known caller can be refused. */
export const callerRefusals: readonly FailureCode[] = ["caller_not_allowed", "caller_rate_limited"];

/** Links a bucket to a trace; undefined unless the trace is recorded. */
function exemplarOf({ traceId, spanId }: RequestFinished, atMs: number): Exemplar | undefined {
  if (traceId === undefined || spanId === undefined) return undefined;
  return { labelSet: { trace_id: traceId, span_id: spanId }, timestamp: atMs / 1_000 };
}
