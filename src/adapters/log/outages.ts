import type { Clock } from "../../model/clock.ts";
import { isMistake } from "../../model/errors.ts";
import {
  type CallbackFinished,
  type OutageEnded,
  overAfterMs,
  overAfterSuccesses,
  type RequestFinished,
  siteToSucceed,
} from "../../model/events.ts";

/** Failures of an environment's requests or callbacks that are not over. */
interface Outage {
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly failed: number;
  /** How many ended from the first failure to the last. */
  readonly total: number;
  /** How many ended since the last failure, and how many of these are of the site that failed. */
  since: number;
  succeededSince: number;
  /** Of the last failure; undefined if any site's success ends it. */
  readonly site: string | undefined;
}

/** Returns a function that gets the end of each request and callback, and says when their failures are over. */
export function createOutages(clock: Clock) {
  const outages = new Map<string, Outage>();
  return (event: RequestFinished | CallbackFinished, isFine: boolean): OutageEnded | undefined => {
    const { kind, environment, code, status } = event;
    if (isFine ? outages.size === 0 : status === 499 || (code !== undefined && isMistake(code))) return undefined;
    const key = `${kind} ${environment}`;
    const nowMs = clock.nowMs();
    const outage = outages.get(key);
    if (!isFine) {
      const { sinceMs = nowMs, failed = 0, total = 0, since = 0 } = outage ?? {};
      const counts = { failed: failed + 1, total: total + since + 1, since: 0, succeededSince: 0 };
      const site = siteToSucceed(kind === "callback_finished" ? event.result : "", event.site);
      outages.set(key, { sinceMs, lastMs: nowMs, site, ...counts });
      return undefined;
    }
    if (outage === undefined) return undefined;
    outage.since += 1;
    if (outage.site === undefined || outage.site === event.site) outage.succeededSince += 1;
    if (outage.succeededSince < overAfterSuccesses || nowMs < outage.lastMs + overAfterMs) return undefined;
    outages.delete(key);
    const { sinceMs, lastMs, failed, total } = outage;
    if (failed < 2) return undefined;
    const what = kind === "request_finished" ? "request" : "callback";
    return { kind: "outage_ended", environment, what, lastedMs: lastMs - sinceMs, failed, total };
  };
}
