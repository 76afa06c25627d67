import type { Environment } from "../../environment.ts";
import { failureCodes, failures, type Outcome } from "../../errors.ts";
import {
  cacheResults,
  cacheTiers,
  lockResults,
  redisFailures,
  retryResults,
  suppressionReasons,
  tokenResults,
} from "../../events.ts";
import type { Metrics } from "./metrics.ts";

/** Whether a series was not there for the configuration before. */
type IsNew = (...labels: readonly string[]) => boolean;

/**
 * Makes every series that a configuration can lead to, so that a first failure is an increase and not a new series,
 * which `rate()` and `increase()` do not see. A series that the configuration before had as well stays as it is.
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
  for (const site of environment.sites.values()) startSite(metrics, environment.name, site.identifier, site.auth);
  startFailures(metrics, environment.name, "none");
  startRequests(metrics, environment);
  startDurations(metrics, environment, isNew);
  startCredentials(metrics, environment, isNew);
}

function startDurations(metrics: Metrics, { name: environment, operations }: Environment, isNew: IsNew): void {
  const { requestDuration, overhead, upstreamDuration } = metrics;
  metrics.inFlight.inc({ environment }, 0);
  for (const operation of allLabels(operations)) {
    if (!isNew("duration", environment, operation)) continue;
    for (const histogram of [requestDuration, overhead]) histogram.zero({ environment, operation });
  }
  for (const operation of sentLabels(operations)) {
    if (isNew("upstream duration", environment, operation)) upstreamDuration.zero({ environment, operation });
  }
}

function startSite(metrics: Metrics, environment: string, site: string, methods: readonly string[]): void {
  startFailures(metrics, environment, site);
  for (const auth of methods) {
    for (const attempt of auth === "oauth" ? ["1", "2"] : ["1"]) {
      metrics.unauthorized.inc({ environment, site, auth, attempt }, 0);
    }
  }
  if (methods.includes("oauth")) {
    for (const result of retryResults) metrics.retries.inc({ environment, site, result }, 0);
  }
}

function startFailures(metrics: Metrics, environment: string, site: string): void {
  for (const code of failureCodes) {
    for (const outcome of failures[code].outcomes) metrics.failures.inc({ environment, site, code, outcome }, 0);
  }
}

/** The service's statuses cannot be known before, but for the one that is hoped for; our own can. */
function startRequests(metrics: Metrics, { name: environment, operations, sites }: Environment): void {
  for (const operation of allLabels(operations)) {
    for (const status of ownStatuses) {
      const refused = { by: "countersign", outcome: "not_sent" };
      metrics.requests.inc({ environment, site: "none", auth: "none", operation, status, ...refused }, 0);
    }
  }
  for (const operation of sentLabels(operations)) {
    for (const { identifier: site, auth: methods } of sites.values()) {
      for (const auth of methods) {
        const served = { status: "200", by: "service", outcome: "answered" };
        metrics.requests.inc({ environment, site, auth, operation, ...served }, 0);
        for (const [status, outcomes] of lateEnds) {
          for (const outcome of outcomes) {
            metrics.requests.inc({ environment, site, auth, operation, status, by: "countersign", outcome }, 0);
          }
        }
      }
    }
  }
}

/** Every status that a failure can have. */
const ownStatuses = new Set(Object.values(failures).map(({ status }) => String(status)));

/** What a request can come to once its site is known; 499 is a caller that left before anything was sent. */
const lateEnds: readonly (readonly [status: string, outcomes: readonly Outcome[]])[] = [
  ["422", ["not_sent"]],
  ["499", ["not_sent"]],
  ["500", ["not_sent", "unknown"]],
  ["502", ["not_sent", "unknown"]],
  ["503", ["not_sent"]],
  ["504", ["not_sent", "unknown"]],
];

function startCredentials(metrics: Metrics, { name: environment, sites }: Environment, isNew: IsNew): void {
  for (const { credentials, identifier } of sites.values()) {
    if (credentials?.owner !== identifier) continue;
    for (const { label: credential } of credentials.sets) {
      for (const result of tokenResults) metrics.tokenRequests.inc({ environment, credential, result }, 0);
      for (const reason of suppressionReasons) metrics.refreshSuppressed.inc({ environment, credential, reason }, 0);
      if (!isNew("credential", environment, credential)) continue;
      metrics.tokenRequestDuration.zero({ environment, credential });
    }
  }
}

/** Operations that reach the service. */
function sentLabels(operations: ReadonlySet<string> | "any"): readonly string[] {
  return operations === "any" ? ["other"] : [...operations];
}

/** Those that are refused too: `none` before the operation is known. */
function allLabels(operations: ReadonlySet<string> | "any"): ReadonlySet<string> {
  return new Set([...sentLabels(operations), "other", "none"]);
}
