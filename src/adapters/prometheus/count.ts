import type { Clock } from "../../model/clock.ts";
import type { Event, Report, RequestFinished } from "../../model/events.ts";
import { statusClass } from "../../model/status-class.ts";
import type { Metrics } from "./metrics.ts";

/** Turns facts into metrics. */
export function createCounting(metrics: Metrics, clock: Clock): Report {
  const wallSeconds = () => clock.wallMs() / 1_000;
  return (event: Event) => {
    switch (event.kind) {
      case "request_accepted":
        metrics.inFlight.inc({ environment: event.environment });
        return;
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
      case "token_adopted": {
        const { environment, credential } = event;
        const expiresAt = wallSeconds() + event.remainingMs / 1_000;
        metrics.tokenExpiry.set({ environment, credential }, expiresAt);
        metrics.tokenIssued.set({ environment, credential }, expiresAt - event.lifetimeMs / 1_000);
        return;
      }
      case "token_lapsed": {
        const { environment, credential } = event;
        metrics.tokenExpiry.remove({ environment, credential });
        metrics.tokenIssued.remove({ environment, credential });
        return;
      }
      case "token_used": {
        const { environment, credential } = event;
        metrics.lastUsed.set({ environment, credential }, wallSeconds());
        return;
      }
      case "credential_removed": {
        const { environment, credential } = event;
        const { tokenExpiry, tokenIssued, lastUsed, active } = metrics;
        for (const gauge of [tokenExpiry, tokenIssued, lastUsed, active]) gauge.remove({ environment, credential });
        return;
      }
      case "credential_switched":
        metrics.active.set({ environment: event.environment, credential: event.from }, 0);
        metrics.active.set({ environment: event.environment, credential: event.to }, 1);
        return;
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
      case "redis_down":
        metrics.redisUp.set({ node: event.node }, 0);
        return;
      case "redis_up":
        metrics.redisUp.set({ node: event.node }, 1);
        return;
      case "started":
        showConfig(metrics, event.configHash, wallSeconds());
        metrics.buildInfo.set({ version: event.version, node: process.version }, 1);
        return;
      case "config_applied":
        metrics.configReloads.inc({ result: "applied" });
        metrics.configInfo.remove({ hash: event.previousHash });
        showConfig(metrics, event.hash, wallSeconds());
        return;
      case "config_refused":
        metrics.configReloads.inc({ result: "refused" });
        metrics.lastReloadSuccessful.set(0);
        return;
      case "config_unchanged":
        metrics.lastReloadSuccessful.set(1);
        return;
      case "character_warned":
      case "configuration_warned":
      case "handshake_failed":
      case "accept_failed":
      case "process_warned":
      case "log_lines_dropped":
      case "draining":
      case "stopped":
      case "defect":
        return;
    }
  };
}

function showConfig(metrics: Metrics, hash: string, atSeconds: number): void {
  metrics.configInfo.set({ hash }, 1);
  metrics.lastReloadSuccessful.set(1);
  metrics.lastReloadSuccess.set(atSeconds);
}

function countRequest(metrics: Metrics, event: RequestFinished): void {
  const { environment, operationLabel: operation, by, code, outcome } = event;
  const site = event.site ?? "none";
  const auth = event.auth ?? "none";
  if (event.admitted) metrics.inFlight.dec({ environment });
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
