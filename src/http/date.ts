/** The only form a sender may generate (RFC 9110 section 5.6.7). */
const imfFixdate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const shortestMs = 1_000;
const longestMs = 86_400_000;

/** The last date that was read: all responses of one second have the same. */
let latest: { readonly text: string; readonly ms: number | undefined } = { text: "", ms: undefined };

/**
 * An HTTP date in milliseconds since the Unix epoch; undefined for anything but an IMF-fixdate. Date.parse alone would
 * accept "5".
 */
export function parseHttpDate(text = ""): number | undefined {
  if (text !== latest.text) latest = { text, ms: readHttpDate(text) };
  return latest.ms;
}

function readHttpDate(text: string): number | undefined {
  const trimmed = text.trim();
  if (!imfFixdate.test(trimmed)) return undefined;
  const ms = Date.parse(trimmed);
  return Number.isNaN(ms) ? undefined : ms;
}

/**
 * How long a Retry-After (RFC 9110 section 10.2.3) asks to wait, in milliseconds between 1 s and 24 h; undefined when
 * there is none or it cannot be understood. A date is measured against the response's own Date if there is one, so
 * that a wrong clock on either side does not matter.
 */
export function retryAfterMs(value: string | undefined, date: string | undefined, wallMs: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d+$/.test(text)) return clamp(Number(text) * 1_000);
  const untilMs = parseHttpDate(text);
  return untilMs === undefined ? undefined : clamp(untilMs - (parseHttpDate(date) ?? wallMs));
}

function clamp(ms: number): number {
  return Math.min(Math.max(ms, shortestMs), longestMs);
}
