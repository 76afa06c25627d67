import type { RequestFinished, TokenEvent } from "../../model/events.ts";

type TokenRequested = Extract<TokenEvent, { kind: "token_requested" }>;

/**
 * An unknown outcome is what somebody has to act on. A 5xx, 429 or 401 of the service passes like any answer, but no
 * caller can correct it: the service fails, throttles, or refuses what we authenticate with.
 */
export function levelOf({ outcome, code, by, status }: RequestFinished): "error" | "warn" | "info" {
  // An undecided answer of the service is told to its caller as an answer.
  if (outcome === "unknown") return by === "service" && code === undefined ? "warn" : "error";
  const isServiceTrouble = by === "service" && (status >= 500 || status === 429 || status === 401);
  return code !== undefined || isServiceTrouble ? "warn" : "info";
}

/** `create_order for S1000000001: 502 upstream_unreachable (ECONNREFUSED), not_sent` */
export function describeRequest(event: RequestFinished): string {
  const { site, status, code, cause, outcome, attempts, callerLeft } = event;
  const whom = site === undefined ? "" : ` for ${site}`;
  const why = cause === undefined ? "" : ` (${cause})`;
  const retried = attempts > 1 ? `, ${attempts} attempts` : "";
  const left = callerLeft ? ", caller left" : "";
  return `${whatOf(event)}${whom}: ${status}${nameOf(code, event)}${why}, ${outcome}${retried}${left}`;
}

/** What was called: the operation, or as much as was understood of the request. */
function whatOf({ operation, method, target }: RequestFinished): string {
  if (operation !== undefined) return operation;
  if (method === undefined) return "request without a head";
  return target === undefined ? method : `${method} ${target}`;
}

/** The failure's code, or who gave an answer that is easily taken for one of ours. */
function nameOf(code: string | undefined, { by, status }: RequestFinished): string {
  if (code !== undefined) return ` ${code}`;
  return by === "service" && status >= 400 ? " from the service" : "";
}

/** `token for S1000000001/blue: refused (HTTP 401, invalid_client), next try in 10 s` */
export function describeTokenRequest({ credential, result, status, cause, pauseMs }: TokenRequested): string {
  if (result === "issued") return `token for ${credential}: issued`;
  const known = [status === undefined ? undefined : `HTTP ${status}`, cause].filter((part) => part !== undefined);
  const why = known.length === 0 ? "" : ` (${known.join(", ")})`;
  const next = pauseMs === undefined ? "" : `, next try in ${Math.max(1, Math.round(pauseMs / 1_000))} s`;
  return `token for ${credential}: ${result}${why}${next}`;
}
