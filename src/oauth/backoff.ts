/** The first retry waits up to this long; each further one up to twice as long. */
const firstStepMs = 50;
/** No pause is longer, so recovery is noticed within it. */
const longestStepMs = 30_000;

/**
 * Exponential back-off with full jitter: uniform between 0 and `50 ms * 2^failures`, at most 30 s.
 * @param failures how many have failed in a row before this pause, from 0
 * @param random uniform in [0, 1)
 */
export function backoffMs(failures: number, random: () => number): number {
  return random() * Math.min(longestStepMs, firstStepMs * 2 ** failures);
}
