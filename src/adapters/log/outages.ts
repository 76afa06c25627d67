import type { Clock } from "../../model/clock.ts";
import { isMistake } from "../../model/errors.ts";
import {
  type CallbackFinished,
  type OutageEnded,
  overAfterMs,
  overAfterSuccesses,
  type RequestFinished,
} from "../../model/events.ts";

/** Failures of an environment's requests or callbacks that are not over. */
interface Outage {
  readonly sinceMs: number;
  lastMs: number;
  failed: number;
  /** How many ended from the first failure to the last. */
  total: number;
  succeededSince: number;
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
      const { sinceMs = nowMs, failed = 0, total = 0, succeededSince = 0 } = outage ?? {};
      const counts = { failed: failed + 1, total: total + succeededSince + 1 };
      outages.set(key, { sinceMs, lastMs: nowMs, ...counts, succeededSince: 0 });
      return undefined;
    }
    if (outage === undefined) return undefined;
    outage.succeededSince += 1;
    if (outage.succeededSince < overAfterSuccesses || nowMs < outage.lastMs + overAfterMs) return undefined;
    outages.delete(key);
    const { sinceMs, lastMs, failed, total } = outage;
    if (failed < 2) return undefined;
    const what = kind === "request_finished" ? "request" : "callback";
    return { kind: "outage_ended", environment, what, lastedMs: lastMs - sinceMs, failed, total };
  };
}
