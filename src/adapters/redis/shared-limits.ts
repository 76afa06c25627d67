import {
  type EndpointPause,
  endpointPauseKinds,
  endpointPauseMemoryMs,
  type ForcedRefreshes,
  forcedRefreshMemoryMs,
  type SharedEndpointPause,
} from "../../oauth/shared-limits.ts";
import { aheadMs } from "./scripts.ts";

/** No authorization server is believed for longer (spec 8, Retry-After). */
const longestPauseMs = 86_400_000;
const mostFailures = 64;

/** `<kind> <status> <failures> <whole duration in ms>`. */
const endpointForm = new RegExp(`^(${endpointPauseKinds.join("|")}) ([1-5]\\d\\d) (\\d{1,15}) (\\d{1,15})$`);
const countForm = /^\d{1,4}$/;

/** @param ms the whole duration, an integer */
export function formatEndpointPause({ kind, status, failures }: EndpointPause, ms: number): string {
  return `${kind} ${status} ${failures} ${ms}`;
}

/**
 * Reads the endpoint's pause, strictly and within bounds; what is damaged, or of another clock, says nothing.
 * @param keptMs what is left of the key: of the pause, and of the time in which it is known after its end
 */
export function parseEndpoint(text: unknown, keptMs: unknown): SharedEndpointPause | undefined {
  const [, name, status, failures, whole] = typeof text === "string" ? (endpointForm.exec(text) ?? []) : [];
  const kind = endpointPauseKinds.find((known) => known === name);
  if (kind === undefined || typeof keptMs !== "number" || keptMs <= 0) return undefined;
  const leftMs = keptMs - endpointPauseMemoryMs;
  // More is left than the whole: Redis's clock has stepped back, or this is another server.
  if (leftMs > Number(whole) + aheadMs) return undefined;
  return {
    kind,
    status: Number(status),
    failures: Math.min(Number(failures), mostFailures),
    remainingMs: Math.min(Math.max(0, leftMs), Number(whole), longestPauseMs),
    ageMs: Math.max(0, Number(whole) - leftMs),
  };
}

/**
 * Reads a count of forced refreshes in the same way.
 * @param keptMs what is left of the key
 */
export function parseForced(text: unknown, keptMs: unknown): ForcedRefreshes | undefined {
  if (typeof text !== "string" || !countForm.test(text)) return undefined;
  if (typeof keptMs !== "number" || keptMs <= 0 || keptMs > forcedRefreshMemoryMs + aheadMs) return undefined;
  return { useless: Number(text), ageMs: Math.max(0, forcedRefreshMemoryMs - keptMs) };
}
