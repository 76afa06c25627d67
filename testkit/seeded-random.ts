/**
 * A seed for the random numbers of one test: printed, and repeated by setting TEST_SEED. A test whose bound is only probable sets a
 * fixed seed, so that it never fails by chance.
 */
export function drawSeed(what: string, fixed?: number): number {
  const seed = Number(process.env["TEST_SEED"] ?? fixed ?? Date.now() % 1_000_000);
  // biome-ignore lint/suspicious/noConsole: whoever repeats a failure needs its seed
  console.info(`${what}: TEST_SEED=${seed}`);
  return seed;
}

/** Uniform in [0, 1), the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a function that picks one of several values at random. */
export function pickBy(random: () => number) {
  return <Value>(values: readonly Value[]) => values[Math.floor(random() * values.length)] as Value;
}
