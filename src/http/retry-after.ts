import { parseHttpDate } from "./http-date.ts";

const shortestMs = 1_000;
const longestMs = 86_400_000;

/**
 * How long a Retry-After (RFC 9110 section 10.2.3) asks to wait, in milliseconds between 1 s and 24 h; undefined when
 * there is none or it cannot be understood. A date is measured against the answer's own Date where there is one, so
 * that a wrong clock on either side does not matter.
 */
export function retryAfterMs(value: string | undefined, date: string | undefined, wallMs: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d+$/.test(text)) return clamp(Number(text) * 1_000);
  const until = parseHttpDate(text);
  if (until === undefined) return undefined;
  return clamp(until - (parseHttpDate(date) ?? wallMs));
}

function clamp(ms: number): number {
  return Math.min(Math.max(ms, shortestMs), longestMs);
}
