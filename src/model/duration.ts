export const durationPattern = /^(\d{1,9})(ms|s|m|h)$/;

const msPerUnit: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of `500ms`, `20s`, `2m` or `1h`; undefined for any other text. */
export function parseDurationMs(text: string): number | undefined {
  const [, digits, unit = ""] = durationPattern.exec(text) ?? [];
  const factor = msPerUnit[unit];
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}

/** As the configuration writes it: whole seconds as `20s`, anything else as `1500ms`. */
export function formatDuration(ms: number): string {
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}
