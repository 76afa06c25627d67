import type { Environment, Site } from "../../model/environment.ts";
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
import type { Configured } from "./source.ts";

/**
 * Makes the series on which alerts count. A first failure is then an increase; `rate()` and `increase()` do not see a new
 * series. All other series appear with their first event: a gateway of a thousand sites would have a hundred thousand.
 * docs/reference/metrics.md lists the series that start at 0. An existing series keeps its value.
 */
export function startAtZero(metrics: Metrics, configured: Configured): void {
  const { environments, redisNodes, callbacks, callers, isTraced, namesSites } = configured;
  metrics.tokenCache.start({ tier: redisNodes.length === 0 ? ["memory"] : cacheTiers, result: cacheResults });
  metrics.configReloads.start({ result: ["applied", "refused"] });
  if (redisNodes.length > 0) metrics.redisEvictedKeys.start({ node: "cache" });
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

/** The sites to name in series; one stands for all if series name none. */
function sitesThat(
  { sites }: Environment,
  namesSites: boolean,
  isMeant: (site: Site) => boolean | undefined,
): string[] {
  const found: string[] = [];
  for (const site of sites.values()) {
    if (isMeant(site)) found.push(site.identifier);
    if (found.length > 0 && !namesSites) break;
  }
  return found;
}

/** All answers by class; unknown outcomes, and failures to get a token, by site; all failures before a site is known. */
function startAnswers(metrics: Metrics, configured: Environment, namesSites: boolean): void {
  const { name: environment, sites } = configured;
  const sitesWith = (isMeant: Parameters<typeof sitesThat>[2]) => sitesThat(configured, namesSites, isMeant);
  const methods = (["oauth", "hmac"] as const).filter((method) => {
    return sitesThat(configured, false, ({ auth }) => auth.includes(method)).length > 0;
  });
  const startFailures = (site: string | readonly string[], codes: readonly FailureCode[]) => {
    for (const code of codes) metrics.failures.start({ environment, site, code, outcome: failures[code].outcomes });
  };
  metrics.answers.start({ environment, auth: methods, by: "service", status_class: statusClasses });
  metrics.answers.start({ environment, auth: [...methods, "none"], by: "countersign", status_class: ["4xx", "5xx"] });
  metrics.unknownOutcomes.start({ environment, site: ["none", ...sitesWith(() => true)] });
  startFailures("none", requestFailureCodes);
  startFailures(
    sitesWith(({ auth }) => auth.includes("oauth")),
    tokenOutages,
  );
  const bridged = sitesWith(({ bridge }) => bridge !== undefined);
  metrics.bridged.start({ environment, site: bridged, reason: tokenOutages });
  // An operator reads these before a cut-over: a result that never occurred must show as 0.
  const checked = sitesWith(({ checksCallerSignature }) => checksCallerSignature);
  metrics.callerSignatures.start({ environment, site: checked, result: callerSignatureResults });
  const owners = sitesWith(({ identifier, credentials }) => credentials?.owner === identifier);
  const credential = owners.flatMap((site) => sites.get(site)?.credentials?.sets.map(({ label }) => label) ?? []);
  metrics.tokenRequests.start({ environment, credential, result: "issued" });
}

/** Results of callbacks: forged ones without a site, delivered and lost ones by site, and unguarded ones. */
function startCallbacks(
  { callbacks, callbacksUnguarded, callbackDuration }: Metrics,
  configured: Environment,
  namesSites: boolean,
): void {
  const { name: environment } = configured;
  const site = sitesThat(configured, namesSites, ({ keys }) => keys.length > 0);
  callbacks.start({ environment, site: "none", result: forgeryReasons });
  callbacks.start({ environment, site, result: ["delivered", "callback_too_old"] });
  callbacksUnguarded.start({ environment });
  callbackDuration.start({ environment });
}

function startDurations(metrics: Metrics, { name: environment, operations, passThrough = [] }: Environment): void {
  const { requestDuration, overhead, upstreamDuration, tokenWait, tokenRequestDuration } = metrics;
  const routes = passThrough.map(({ prefix }) => prefix);
  const sent = [...(operations === "any" ? ["other"] : operations), ...routes];
  for (const operation of new Set([...sent, "other", "none"])) {
    for (const histogram of [requestDuration, overhead]) histogram.start({ environment, operation });
  }
  for (const operation of sent) upstreamDuration.start({ environment, operation });
  for (const histogram of [tokenWait, tokenRequestDuration]) histogram.start({ environment });
}
