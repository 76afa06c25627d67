import type { AuthMethod, Environment } from "../../model/environment.ts";
import { type FailureCode, failureCodes, failures } from "../../model/errors.ts";
import { cacheResults, cacheTiers, lockResults, redisFailures } from "../../model/events.ts";
import { statusClasses } from "../../model/status-class.ts";
import type { Metrics } from "./metrics.ts";

/** Whether a series was not there for the configuration before. */
type IsNew = (...labels: readonly string[]) => boolean;

/**
 * Makes the series on which alerts count, so that a first failure is an increase and not a new series, which `rate()` and
 * `increase()` do not see. All others appear when they happen: a gateway of a thousand sites would have a hundred thousand.
 * docs/operations.md lists what starts at 0. A series that the configuration before had as well stays as it is.
 * @param redisNodes the Redis servers in use, as in RedisEvent; none with the memory cache
 */
export type StartAtZero = (environments: readonly Environment[], redisNodes: readonly string[]) => void;

export function createStartAtZero(metrics: Metrics): StartAtZero {
  let known: ReadonlySet<string> = new Set();
  return (environments, redisNodes) => {
    const present = new Set<string>();
    const isNew: IsNew = (...labels) => {
      const key = labels.join(" ");
      present.add(key);
      return !known.has(key);
    };
    for (const environment of environments) startEnvironment(metrics, environment, isNew);
    startProcess(metrics, redisNodes);
    known = present;
  };
}

function startProcess(metrics: Metrics, redisNodes: readonly string[]): void {
  const tiers = redisNodes.length === 0 ? ["memory"] : cacheTiers;
  for (const tier of tiers) for (const result of cacheResults) metrics.tokenCache.inc({ tier, result }, 0);
  for (const result of ["applied", "refused"]) metrics.configReloads.inc({ result }, 0);
  for (const result of lockResults) metrics.refreshLock.inc({ result }, 0);
  for (const node of redisNodes) {
    metrics.redisUp.inc({ node }, 0);
    for (const kind of redisFailures) metrics.redisErrors.inc({ node, kind }, 0);
  }
}

function startEnvironment(metrics: Metrics, environment: Environment, isNew: IsNew): void {
  const { name, sites } = environment;
  metrics.inFlight.inc({ environment: name }, 0);
  startAnswers(metrics, environment);
  startDurations(metrics, environment, isNew);
  for (const code of failureCodes) startFailure(metrics, name, "none", code);
  metrics.unknownOutcomes.inc({ environment: name, site: "none" }, 0);
  for (const { identifier, auth, credentials } of sites.values()) {
    startSite(metrics, name, identifier, auth);
    if (credentials?.owner !== identifier) continue;
    for (const { label: credential } of credentials.sets) {
      metrics.tokenRequests.inc({ environment: name, credential, result: "issued" }, 0);
    }
  }
}

/** Every answer that can be given, by its class. */
function startAnswers(metrics: Metrics, { name: environment, sites }: Environment): void {
  const methods = new Set([...sites.values()].flatMap(({ auth }) => auth));
  for (const auth of methods) {
    for (const status_class of statusClasses) {
      metrics.answers.inc({ environment, auth, by: "service", status_class }, 0);
    }
  }
  for (const auth of [...methods, "none"]) {
    for (const status_class of ["4xx", "5xx"]) {
      metrics.answers.inc({ environment, auth, by: "countersign", status_class }, 0);
    }
  }
}

function startDurations(metrics: Metrics, { name: environment, operations }: Environment, isNew: IsNew): void {
  const { requestDuration, overhead, upstreamDuration, tokenWait, tokenRequestDuration } = metrics;
  for (const operation of allLabels(operations)) {
    if (!isNew("duration", environment, operation)) continue;
    for (const histogram of [requestDuration, overhead]) histogram.zero({ environment, operation });
  }
  for (const operation of sentLabels(operations)) {
    if (isNew("upstream duration", environment, operation)) upstreamDuration.zero({ environment, operation });
  }
  if (!isNew("token durations", environment)) return;
  for (const histogram of [tokenWait, tokenRequestDuration]) histogram.zero({ environment });
}

/** What wakes somebody by site: an order in doubt, and a site that gets no token. */
function startSite(metrics: Metrics, environment: string, site: string, methods: readonly AuthMethod[]): void {
  metrics.unknownOutcomes.inc({ environment, site }, 0);
  if (!methods.includes("oauth")) return;
  for (const code of ["credentials_refused", "token_unavailable"] as const) {
    startFailure(metrics, environment, site, code);
  }
}

function startFailure(metrics: Metrics, environment: string, site: string, code: FailureCode): void {
  for (const outcome of failures[code].outcomes) metrics.failures.inc({ environment, site, code, outcome }, 0);
}

/** Operations that reach the service. */
function sentLabels(operations: ReadonlySet<string> | "any"): readonly string[] {
  return operations === "any" ? ["other"] : [...operations];
}

/** Those that are refused too: `none` before the operation is known. */
function allLabels(operations: ReadonlySet<string> | "any"): ReadonlySet<string> {
  return new Set([...sentLabels(operations), "other", "none"]);
}
