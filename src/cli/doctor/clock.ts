import { parseHttpDate } from "../../http/date.ts";
import { type CheckResult, fail, formatSpan, ok, skip, warn } from "./check.ts";
import type { HeadResponse } from "./tls.ts";

/** Services allow for a few seconds. From 30 s on, a service may take a timestamp for an old one. */
const goodSkewMs = 5_000;
const badSkewMs = 30_000;

/** Both sides have some leeway: a Date is cut to its second, and a response takes a while to come. */
export function evaluateClock({ status, date, sentAtMs, receivedAtMs }: HeadResponse): CheckResult {
  const theirsMs = parseHttpDate(date);
  if (theirsMs === undefined) return skip(`its answer (${status}) has no Date to compare with`);
  const aheadMs = Math.max(0, sentAtMs - (theirsMs + 1_000));
  const behindMs = Math.max(0, theirsMs - receivedAtMs);
  const skewMs = Math.max(aheadMs, behindMs);
  if (skewMs < 1_000) return ok("our clock agrees with its Date");
  const detail = `our clock is ${formatSpan(skewMs)} ${aheadMs > 0 ? "ahead of" : "behind"} its Date`;
  if (skewMs <= goodSkewMs) return ok(detail);
  const fix = "set this node's clock (NTP, chrony); if it agrees with other hosts, theirs is wrong";
  return skewMs <= badSkewMs ? warn(detail, fix) : fail(`${detail}: it may refuse our timestamps`, fix);
}
