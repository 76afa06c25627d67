import type { ServerFacts } from "../../adapters/redis/probe.ts";
import { type CheckResult, ok, warn } from "./check.ts";

/** Whether Redis keeps the keys of Countersign-Once as long as they are promised: what is forgotten is sent again. */
export function evaluateOnce(facts: ServerFacts | undefined): CheckResult {
  if (facts?.evictionPolicy === undefined) {
    return warn("INFO does not tell whether Redis keeps keys", "see that maxmemory-policy is noeviction");
  }
  const { evictionPolicy, isAppendOnly } = facts;
  if (evictionPolicy !== "noeviction") {
    const detail = `maxmemory-policy ${evictionPolicy}: a full Redis drops keys before their once.ttl is over`;
    return warn(detail, "set maxmemory-policy noeviction; a full Redis then refuses such requests with 503");
  }
  if (isAppendOnly) return ok("Redis drops no key before its time, and keeps them on disk");
  const fix = "set appendonly yes, and appendfsync always where no second may be lost; docs/once.md says more";
  return warn("appendonly no: a Redis that starts anew has forgotten every key", fix);
}
