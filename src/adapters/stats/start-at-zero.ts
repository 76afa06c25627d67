import { credentialSetsOf, type Environment } from "../../model/environment.ts";
import { type FailureCode, failures, requestFailureCodes } from "../../model/errors.ts";
import {
  cacheResults,
  cacheTiers,
  callerSignatureResults,
  forgeryReasons,
  lockResults,
  onceResults,
  spanResults,
  statusClasses,
  tokenOutages,
  tunnelResults,
} from "../../model/events.ts";
import { redisFailures } from "../../model/redis-access.ts";
import { callerRefusals } from "./counting.ts";
import type { Metrics } from "./metrics.ts";
import { allSites } from "./series.ts";
import type { Configured } from "./source.ts";

/**
 * Makes the series on which alerts count. A first failure is then an increase; `rate()` and `increase()` do not see a
 * new series. All others appear when they happen: a gateway of a thousand sites would have a hundred thousand.
 * docs/reference/metrics.md lists what starts at 0. A series that is there already keeps its value.
 */
export function startAtZero(metrics: Metrics, configured: Configured): void {
  const { environments, redisNodes, callbacks, callers, isTraced, namesSites } = configured;
  metrics.tokenCache.start({ tier: redisNodes.length === 0 ? ["memory"] : cacheTiers, result: cacheResults });
  metrics.configReloads.start({ result: ["applied", "refused"] });
  metrics.refreshLock.start({ result: lockResults });
  metrics.redisErrors.start({ node: redisNodes, kind: redisFailures });
  for (const { listener, name: caller } of callers) {
    metrics.callerRefusals.start({ listener, caller, code: callerRefusals });
  }
  if (isTraced) metrics.traceSpans.start({ result: spanResults });
  for (const each of environments) {
    const { name: environment } = each;
    startAnswers(metrics, each, namesSites);
    startDurations(metrics, each);
    if (callbacks.some((place) => place.environment === environment)) startCallbacks(metrics, each, namesSites);
    if (each.egress !== undefined) metrics.tunnels.start({ environment, result: tunnelResults });
    if (redisNodes.length > 0) metrics.once.start({ environment, result: onceResults });
  }
}

/** Every answer that can be given, by its class; unknown outcomes, and sites that get no token; before a site is known, every failure. */
function startAnswers(metrics: Metrics, configured: Environment, namesSites: boolean): void {
  const { name: environment } = configured;
  const sites = [...configured.sites.values()];
  const methods = [...new Set(sites.flatMap(({ auth }) => auth))];
  const { answers, failures: failed } = metrics;
  answers.start({ environment, auth: methods, by: "service", status_class: statusClasses });
  answers.start({ environment, auth: [...methods, "none"], by: "countersign", status_class: ["4xx", "5xx"] });
  const startFailures = (site: string, codes: readonly FailureCode[]) => {
    metrics.unknownOutcomes.start({ environment, site });
    for (const code of codes) failed.start({ environment, site, code, outcome: failures[code].outcomes });
  };
  startFailures("none", requestFailureCodes);
  const shown = namesSites
    ? sites
    : [
        {
          identifier: allSites,
          auth: methods,
          bridge: sites.find((site) => site.bridge)?.bridge,
          checksCallerSignature: sites.some((site) => site.checksCallerSignature),
        },
      ];
  for (const { identifier: site, auth, bridge, checksCallerSignature } of sites.length > 0 ? shown : []) {
    startFailures(site, auth.includes("oauth") ? tokenOutages : []);
    if (bridge !== undefined) metrics.bridged.start({ environment, site, reason: tokenOutages });
    // These are read before a cut-over: a result that never came must show as 0.
    if (checksCallerSignature) metrics.callerSignatures.start({ environment, site, result: callerSignatureResults });
  }
  const labels = credentialSetsOf(configured).map(({ set }) => set.label);
  const credential = namesSites || labels.length === 0 ? labels : allSites;
  metrics.tokenRequests.start({ environment, credential, result: "issued" });
}

/** Results of callbacks: forged ones without a site, delivered and lost ones by site, and unguarded ones. */
function startCallbacks(
  { callbacks, callbacksUnguarded, callbackDuration }: Metrics,
  { name: environment, sites }: Environment,
  namesSites: boolean,
): void {
  callbacks.start({ environment, site: "none", result: forgeryReasons });
  const named = [...sites.values()].filter(({ keys }) => keys.length > 0).map(({ identifier }) => identifier);
  const site = namesSites || named.length === 0 ? named : allSites;
  callbacks.start({ environment, site, result: ["delivered", "callback_too_old"] });
  callbacksUnguarded.start({ environment });
  callbackDuration.series({ environment });
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
