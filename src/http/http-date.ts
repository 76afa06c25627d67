/** The only form a sender may generate (RFC 9110 section 5.6.7). */
const imfFixdate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * An HTTP date in milliseconds since the Unix epoch; undefined for anything but an IMF-fixdate. Date.parse alone would
 * take "5" for a date.
 */
export function parseHttpDate(text: string | undefined): number | undefined {
  const trimmed = text?.trim() ?? "";
  if (!imfFixdate.test(trimmed)) return undefined;
  const ms = Date.parse(trimmed);
  return Number.isNaN(ms) ? undefined : ms;
}
