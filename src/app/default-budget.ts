const mebibyte = 1_048_576;

/** What the process takes when it serves small bodies, garbage included; measured. */
const processBytes = 128 * mebibyte;
const leastBytes = 16 * mebibyte;
const mostBytes = 1_024 * mebibyte;
const withoutLimitBytes = 256 * mebibyte;

/**
 * The memory limit of the container, if there is one.
 * @param constrainedBytes what Node says, by which it sizes its heap too: 0 when unknown, and beyond all memory when unlimited
 */
export function containerMemory(constrainedBytes: number, totalBytes: number): number | undefined {
  return constrainedBytes > 0 && constrainedBytes < totalBytes ? constrainedBytes : undefined;
}

/**
 * `limits.bufferedBytes` where the configuration does not say it. Half of what is left for bodies: the other half is for
 * garbage that is not collected yet.
 * @param memoryBytes the container's limit; undefined where there is none
 */
export function defaultBudget(memoryBytes: number | undefined): number {
  if (memoryBytes === undefined) return withoutLimitBytes;
  return Math.min(Math.max(Math.floor((memoryBytes - processBytes) / 2), leastBytes), mostBytes);
}
