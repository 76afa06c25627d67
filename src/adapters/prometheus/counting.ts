import { forgeryReasons } from "../../model/callback-events.ts";
import { callerSignatureResults } from "../../model/caller.ts";
import { type Clock, systemClock } from "../../model/clock.ts";
import { credentialSetsOf, type Environment } from "../../model/environment.ts";
import { type FailureCode, failures, requestFailureCodes } from "../../model/errors.ts";
import {
  cacheResults,
  cacheTiers,
  type Event,
  lockResults,
  onceResults,
  type Report,
  statusClasses,
  tunnelResults,
} from "../../model/events.ts";
import { spanResults } from "../../model/process-events.ts";
import { redisFailures } from "../../model/redis-access.ts";
import type { Metrics } from "./metrics.ts";
import { callerRefusals, createRequestCounting } from "./request-counting.ts";
import { onceForEach } from "./series.ts";

/**
 * Turns events into counters and durations. The state of the moment is asked by gauges (gauges.ts). Series of events that come with
 * every request are held (series.ts).
 */
export function createCounting(metrics: Metrics, clock: Pick<Clock, "wallMs"> = systemClock): Report {
  const countRequest = createRequestCounting(metrics, clock);
  const cacheReads = onceForEach((tier: string, result: string) => metrics.tokenCache.series({ tier, result }));
  return (event: Event) => {
    switch (event.kind) {
      case "request_finished":
        countRequest(event);
        return;
      case "callback_finished": {
        const { environment, site = "none", result } = event;
        metrics.callbacks.inc({ environment, site, result });
        if (event.isGuarded === false) metrics.callbacksUnguarded.inc({ environment });
        metrics.callbackDuration.series({ environment }).observe(event.durationMs / 1_000);
        return;
      }
      case "tunnel_requested":
        metrics.tunnels.inc({ environment: event.environment, result: event.result });
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
        metrics.clockSkewSeconds.set(event.environment, event.skewSeconds);
        return;
      case "token_requested": {
        const { environment, credential, result } = event;
        metrics.tokenRequests.inc({ environment, credential, result });
        metrics.tokenRequestDuration.series({ environment }).observe(event.durationMs / 1_000);
        return;
      }
      case "refresh_suppressed": {
        const { environment, credential, reason } = event;
        metrics.refreshSuppressed.inc({ environment, credential, reason });
        return;
      }
      case "token_cache_read":
        cacheReads(event.tier, event.result).inc();
        return;
      case "refresh_lock_tried":
        metrics.refreshLock.inc({ result: event.result });
        return;
      case "redis_failed":
        metrics.redisErrors.inc({ node: event.node, kind: event.failure });
        return;
      case "spans_exported":
        metrics.traceSpans.inc({ result: "exported" }, event.count);
        return;
      case "spans_lost":
        metrics.traceSpans.inc({ result: event.result }, event.count);
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

/** What a configuration has that series are started for. */
export interface Configured {
  readonly environments: readonly Environment[];
  /** The Redis servers, as in RedisEvent; none with the memory cache. */
  readonly redisNodes: readonly string[];
  /** Environments that have a listener for callbacks. */
  readonly calledBack: ReadonlySet<string>;
  /** Callers that have names. */
  readonly callers: readonly { readonly listener: string; readonly name: string }[];
  readonly isTraced: boolean;
}

/**
 * Returns what makes the series on which alerts count. A first failure is then an increase; `rate()` and `increase()` do not see a
 * new series. All others appear when they happen: a gateway of a thousand sites would have a hundred thousand.
 * docs/operations.md lists what starts at 0. A series that is there already keeps its value.
 */
export function createStartAtZero(metrics: Metrics) {
  return ({ environments, redisNodes, calledBack, callers, isTraced }: Configured): void => {
    startProcess(metrics, redisNodes);
    for (const { listener, name: caller } of callers) {
      for (const code of callerRefusals) metrics.callerRefusals.inc({ listener, caller, code }, 0);
    }
    if (isTraced) for (const result of spanResults) metrics.traceSpans.inc({ result }, 0);
    for (const environment of environments) {
      startAnswers(metrics, environment);
      startFailures(metrics, environment);
      startDurations(metrics, environment);
      startCallerSignatures(metrics, environment);
      if (calledBack.has(environment.name)) startCallbacks(metrics, environment);
      if (environment.egress !== undefined) startTunnels(metrics, environment);
      if (redisNodes.length === 0) continue;
      for (const result of onceResults) metrics.once.inc({ environment: environment.name, result }, 0);
    }
  };
}

function startProcess(metrics: Metrics, redisNodes: readonly string[]): void {
  const tiers = redisNodes.length === 0 ? ["memory"] : cacheTiers;
  for (const tier of tiers) for (const result of cacheResults) metrics.tokenCache.inc({ tier, result }, 0);
  for (const result of ["applied", "refused"]) metrics.configReloads.inc({ result }, 0);
  for (const result of lockResults) metrics.refreshLock.inc({ result }, 0);
  for (const node of redisNodes) for (const kind of redisFailures) metrics.redisErrors.inc({ node, kind }, 0);
}

/** Every answer that can be given, by its class. */
function startAnswers({ answers }: Metrics, { name: environment, sites }: Environment): void {
  const methods = new Set([...sites.values()].flatMap(({ auth }) => auth));
  const start = (auth: string, by: "service" | "countersign", classes: readonly string[]) => {
    for (const status_class of classes) answers.inc({ environment, auth, by, status_class }, 0);
  };
  for (const auth of methods) start(auth, "service", statusClasses);
  for (const auth of [...methods, "none"]) start(auth, "countersign", ["4xx", "5xx"]);
}

/** What alerts count: unknown outcomes, and sites that get no token; before a site is known, every failure. */
function startFailures(metrics: Metrics, environment: Environment): void {
  const { name } = environment;
  const start = (site: string, codes: readonly FailureCode[]) => {
    metrics.unknownOutcomes.inc({ environment: name, site }, 0);
    for (const code of codes) {
      for (const outcome of failures[code].outcomes)
        metrics.failures.inc({ environment: name, site, code, outcome }, 0);
    }
  };
  start("none", requestFailureCodes);
  for (const { identifier, auth } of environment.sites.values()) {
    start(identifier, auth.includes("oauth") ? ["credentials_refused", "token_unavailable"] : []);
  }
  for (const { set } of credentialSetsOf(environment)) {
    metrics.tokenRequests.inc({ environment: name, credential: set.label, result: "issued" }, 0);
  }
}

/** Results of callbacks: forged ones, whose site is not known; delivered ones by site; unguarded ones. */
function startCallbacks(
  { callbacks, callbacksUnguarded, callbackDuration }: Metrics,
  { name: environment, sites }: Environment,
): void {
  for (const result of forgeryReasons) callbacks.inc({ environment, site: "none", result }, 0);
  for (const { identifier: site, keys } of sites.values()) {
    if (keys.length > 0) callbacks.inc({ environment, site, result: "delivered" }, 0);
  }
  callbacksUnguarded.inc({ environment }, 0);
  callbackDuration.series({ environment });
}

function startTunnels({ tunnels }: Metrics, { name: environment }: Environment): void {
  for (const result of tunnelResults) tunnels.inc({ environment, result }, 0);
}

/** Before a cut-over one looks at these: a result that never came has to show as 0. */
function startCallerSignatures({ callerSignatures }: Metrics, { name: environment, sites }: Environment): void {
  for (const { identifier: site, checksCallerSignature } of sites.values()) {
    if (!checksCallerSignature) continue;
    for (const result of callerSignatureResults) callerSignatures.inc({ environment, site, result }, 0);
  }
}

function startDurations(
  { requestDuration, overhead, upstreamDuration, tokenWait, tokenRequestDuration }: Metrics,
  { name: environment, operations, passThrough = [] }: Environment,
): void {
  const routes = passThrough.map(({ prefix }) => prefix);
  const sent = [...(operations === "any" ? ["other"] : operations), ...routes];
  for (const operation of new Set([...sent, "other", "none"])) {
    for (const histogram of [requestDuration, overhead]) histogram.series({ environment, operation });
  }
  for (const operation of sent) upstreamDuration.series({ environment, operation });
  for (const histogram of [tokenWait, tokenRequestDuration]) histogram.series({ environment });
}
