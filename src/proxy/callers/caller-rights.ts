import { printable } from "../../model/defect.ts";
import type { Site } from "../../model/environment.ts";
import { ProxyError } from "../../model/errors.ts";
import type { KnownCaller } from "./caller-registry.ts";

/** An environment may allow any operation, and then its length is the client's choice. */
const longestOperation = 128;

/**
 * Counts a request of this caller, whatever becomes of it.
 * @throws ProxyError caller_rate_limited
 */
export function checkCallerRate(caller: KnownCaller | undefined): void {
  const retryAfterMs = caller?.rate?.take();
  if (caller === undefined || retryAfterMs === undefined) return;
  const what = `Caller ${caller.name} makes more requests than it may: ${caller.requestsPerSecond} a second`;
  throw new ProxyError("caller_rate_limited", `${what} (requestsPerSecond). Send this one again after Retry-After.`, {
    retryAfterMs,
    causedBy: "requestsPerSecond",
  });
}

/** @throws ProxyError caller_not_allowed */
export function checkCallerOperation(caller: KnownCaller | undefined, operation: string): void {
  if (caller === undefined || caller.operations === "any" || caller.operations.has(operation)) return;
  throw refuse(`Caller ${caller.name} may not call ${printable(operation, longestOperation)}`, "operations");
}

/**
 * However the site was named: by header, by body, by one of its keys, or not at all.
 * @throws ProxyError caller_not_allowed
 */
export function checkCallerSite(caller: KnownCaller | undefined, { identifier }: Site): void {
  if (caller === undefined || caller.sites === "any" || caller.sites.has(identifier)) return;
  throw refuse(`Caller ${caller.name} may not use site ${identifier}, which this request is for`, "sites");
}

/** @param causedBy the setting that would have to allow it */
function refuse(what: string, causedBy: "operations" | "sites"): ProxyError {
  return new ProxyError("caller_not_allowed", `${what}: it is not in the caller's ${causedBy}.`, { causedBy });
}
