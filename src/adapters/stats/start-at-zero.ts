import { credentialSetsOf, type Environment, type Site } from "../../model/environment.ts";
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
  const show = (names: readonly string[]) => (namesSites || names.length === 0 ? names : [allSites]);
  for (const each of environments) {
    const { name: environment } = each;
    startAnswers(metrics, each, show);
    startDurations(metrics, each);
    if (callbacks.some((place) => place.environment === environment)) startCallbacks(metrics, each, show);
    if (each.egress !== undefined) metrics.tunnels.start({ environment, result: tunnelResults });
    if (redisNodes.length > 0) metrics.once.start({ environment, result: onceResults });
  }
}

/** Names of sites or of credential sets, as metrics show them. */
type Show = (names: readonly string[]) => readonly string[];

/** Every answer that can be given, by its class; unknown outcomes, and sites that get no token; before a site is known, every failure. */
function startAnswers(metrics: Metrics, configured: Environment, show: Show): void {
  const { name: environment } = configured;
  const sites = [...configured.sites.values()];
  const methods = [...new Set(sites.flatMap(({ auth }) => auth))];
  const sitesThat = (isMeant: (site: Site) => boolean | undefined) =>
    show(sites.filter(isMeant).map(({ identifier }) => identifier));
  const startFailures = (site: readonly string[], codes: readonly FailureCode[]) => {
    for (const code of codes) metrics.failures.start({ environment, site, code, outcome: failures[code].outcomes });
  };
  metrics.answers.start({ environment, auth: methods, by: "service", status_class: statusClasses });
  metrics.answers.start({ environment, auth: [...methods, "none"], by: "countersign", status_class: ["4xx", "5xx"] });
  metrics.unknownOutcomes.start({ environment, site: ["none", ...sitesThat(() => true)] });
  startFailures(["none"], requestFailureCodes);
  const withTokens = sitesThat(({ auth }) => auth.includes("oauth"));
  startFailures(withTokens, tokenOutages);
  const bridged = sitesThat(({ bridge }) => bridge !== undefined);
  metrics.bridged.start({ environment, site: bridged, reason: tokenOutages });
  // These are read before a cut-over: a result that never came must show as 0.
  const checked = sitesThat(({ checksCallerSignature }) => checksCallerSignature);
  metrics.callerSignatures.start({ environment, site: checked, result: callerSignatureResults });
  const credential = show(credentialSetsOf(configured).map(({ set }) => set.label));
  metrics.tokenRequests.start({ environment, credential, result: "issued" });
}

/** Results of callbacks: forged ones without a site, delivered and lost ones by site, and unguarded ones. */
function startCallbacks(
  { callbacks, callbacksUnguarded, callbackDuration }: Metrics,
  { name: environment, sites }: Environment,
  show: Show,
): void {
  const withKeys = [...sites.values()].filter(({ keys }) => keys.length > 0);
  const site = show(withKeys.map(({ identifier }) => identifier));
  callbacks.start({ environment, site: "none", result: forgeryReasons });
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
