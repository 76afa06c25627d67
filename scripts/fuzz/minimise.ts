import type { Input } from "./input.ts";

/** Says whether an input still breaks the same promise. */
export type Reproduces = (input: Input) => Promise<boolean>;

const mostTries = 60;

/**
 * A smaller input that still reproduces: from one write, through one door, with fewer lines and a shorter rest. Bounded
 * by tries and by time, so the result is small but not the smallest.
 * @param deadlineMs on the monotonic clock
 */
export async function minimise(input: Input, reproduces: Reproduces, deadlineMs: number): Promise<Input> {
  let best = input;
  let tries = 0;
  const attempt = async (smaller: Input) => {
    if (tries >= mostTries || performance.now() > deadlineMs || smaller.bytes.length === 0) return false;
    tries += 1;
    if (!(await reproduces(smaller))) return false;
    best = smaller;
    return true;
  };
  if (best.slices.length > 0) await attempt({ ...best, slices: [] });
  if (best.door === "unix") await attempt({ ...best, door: "tcp" });
  for (let divisor = 2; divisor <= 16; divisor *= 2) {
    for (let part = divisor - 1; part >= 0; part--) {
      const length = Math.ceil(best.bytes.length / divisor);
      await attempt(without(best, part * length, (part + 1) * length));
    }
  }
  for (let line = linesOf(best).length - 1; line >= 0; line--) {
    const kept = linesOf(best).filter((_, index) => index !== line);
    await attempt(shorten(best, Buffer.from(kept.join("\r\n"), "latin1")));
  }
  return best;
}

function linesOf({ bytes }: Input): string[] {
  return bytes.toString("latin1").split("\r\n");
}

function without(input: Input, from: number, to: number): Input {
  return shorten(input, Buffer.concat([input.bytes.subarray(0, from), input.bytes.subarray(to)]));
}

function shorten(input: Input, bytes: Buffer): Input {
  return { ...input, bytes, slices: input.slices.filter((slice) => slice < bytes.length) };
}
