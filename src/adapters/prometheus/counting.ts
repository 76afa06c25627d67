import type { Event, Report, RequestFinished } from "../../model/events.ts";
import { statusClass } from "../../model/status-class.ts";
import type { Metrics } from "./metrics.ts";

/** Turns events into counters and durations. What is so at the moment, gauges ask (gauges.ts). */
export function createCounting(metrics: Metrics): Report {
  return (event: Event) => {
    switch (event.kind) {
      case "request_finished":
        countRequest(metrics, event);
        return;
      case "upstream_unauthorized": {
        const { environment, site, auth, attempt } = event;
        metrics.unauthorized.inc({ environment, site, auth, attempt: String(attempt) });
        return;
      }
      case "retry_finished":
        metrics.retries.inc({ environment: event.environment, site: event.site, result: event.result });
        return;
      case "clock_skew_measured":
        metrics.clockSkew.set({ environment: event.environment }, event.skewSeconds);
        return;
      case "token_requested": {
        const { environment, credential, result } = event;
        metrics.tokenRequests.inc({ environment, credential, result });
        metrics.tokenRequestDuration.observe({ environment }, event.durationMs / 1_000);
        return;
      }
      case "refresh_suppressed": {
        const { environment, credential, reason } = event;
        metrics.refreshSuppressed.inc({ environment, credential, reason });
        return;
      }
      case "token_cache_read":
        metrics.tokenCache.inc({ tier: event.tier, result: event.result });
        return;
      case "refresh_lock_tried":
        metrics.refreshLock.inc({ result: event.result });
        return;
      case "redis_failed":
        metrics.redisErrors.inc({ node: event.node, kind: event.failure });
        return;
      case "config_applied":
        metrics.configReloads.inc({ result: "applied" });
        return;
      case "config_refused":
        metrics.configReloads.inc({ result: "refused" });
        return;
      default:
        return;
    }
  };
}

function countRequest(metrics: Metrics, event: RequestFinished): void {
  const { environment, operationLabel: operation, by, code, outcome } = event;
  const site = event.site ?? "none";
  const auth = event.auth ?? "none";
  metrics.requests.inc({ environment, site, auth, operation, status: String(event.status), by, outcome });
  metrics.answers.inc({ environment, auth, by, status_class: statusClass(event.status) });
  if (outcome === "unknown") metrics.unknownOutcomes.inc({ environment, site });
  const { listener, callerName: caller, tokenWaitMs } = event;
  if (listener !== undefined && caller !== undefined) metrics.callerRequests.inc({ listener, caller, outcome });
  if (tokenWaitMs !== undefined) metrics.tokenWait.observe({ environment }, tokenWaitMs / 1_000);
  metrics.requestDuration.observe({ environment, operation }, event.durationMs / 1_000);
  metrics.overhead.observe({ environment, operation }, event.overheadMs / 1_000);
  if (event.upstreamMs !== undefined) {
    metrics.upstreamDuration.observe({ environment, operation }, event.upstreamMs / 1_000);
  }
  if (code !== undefined) metrics.failures.inc({ environment, site, code, outcome });
}
